#pragma once
// What a caller of the C API may ask of the machine itself: the kernels' self-test and the memory's speed.
#include "kernels/dispatch.h"
#include "kernels/self_test.h"
#include "threads/read_bandwidth.h"
