#ifndef SPIKED_ADDON_HANDLES_H
#define SPIKED_ADDON_HANDLES_H

#include <memory>

#include "capi/spiked.h"

namespace spiked::addon {

template <auto close>
struct Closer {
  template <typename T>
  void operator()(T* handle) const {
    close(handle);
  }
};

/// C handles are reference-counted behind the C API (a session keeps its model, a model its engine): each may
/// be closed on its own.
using EngineHandle = std::unique_ptr<spiked_engine, Closer<spiked_engine_close>>;
using ModelHandle = std::unique_ptr<spiked_model, Closer<spiked_model_close>>;
using SessionHandle = std::unique_ptr<spiked_session, Closer<spiked_session_close>>;

}  // namespace spiked::addon

#endif
