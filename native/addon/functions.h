#ifndef SPIKED_ADDON_FUNCTIONS_H
#define SPIKED_ADDON_FUNCTIONS_H

#include <napi.h>

/// The functions that the addon exports beside openEngine; types and meaning in native/host/addon-types.ts.
namespace spiked::addon {

Napi::Value set_error_factory(const Napi::CallbackInfo& info);
Napi::Value build(const Napi::CallbackInfo& info);
Napi::Value isas(const Napi::CallbackInfo& info);
Napi::Value describe_file(const Napi::CallbackInfo& info);
Napi::Value packed_size(const Napi::CallbackInfo& info);
Napi::Value pack(const Napi::CallbackInfo& info);
Napi::Value unpack_rows(const Napi::CallbackInfo& info);
Napi::Value self_test(const Napi::CallbackInfo& info);
Napi::Value read_bandwidth(const Napi::CallbackInfo& info);
Napi::Value measured_kernels(const Napi::CallbackInfo& info);
Napi::Value measure_kernel(const Napi::CallbackInfo& info);
Napi::Value arithmetic_peak(const Napi::CallbackInfo& info);
Napi::Value peer_credentials(const Napi::CallbackInfo& info);
Napi::Value writable(const Napi::CallbackInfo& info);
Napi::Value notify_systemd(const Napi::CallbackInfo& info);
Napi::Value listening_socket(const Napi::CallbackInfo& info);
Napi::Value group_id(const Napi::CallbackInfo& info);
Napi::Value try_lock(const Napi::CallbackInfo& info);
Napi::Value open_pty(const Napi::CallbackInfo& info);
Napi::Value pty_baud(const Napi::CallbackInfo& info);

}  // namespace spiked::addon

#endif
