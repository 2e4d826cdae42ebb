#pragma once
#include "kernels/dispatch.h"
#include "kernels/self_test.h"
