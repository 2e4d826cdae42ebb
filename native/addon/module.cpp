#include <napi.h>

#include "engine.h"
#include "env_state.h"
#include "functions.h"
#include "model.h"
#include "session.h"

namespace spiked::addon {
namespace {

Napi::Object init(Napi::Env env, Napi::Object exports) {
  EnvState::install(env);
  // Should it fail, a model file that shrinks ends the process, as it would have.
  spiked_catch_lost_pages(nullptr);
  EnvState& state = EnvState::of(env);
  state.engine_class = Napi::Persistent(Engine::define(env));
  state.model_class = Napi::Persistent(Model::define(env));
  state.session_class = Napi::Persistent(Session::define(env));

  exports["setErrorFactory"] = Napi::Function::New<set_error_factory>(env, "setErrorFactory");
  exports["build"] = Napi::Function::New<build>(env, "build");
  exports["isas"] = Napi::Function::New<isas>(env, "isas");
  exports["openEngine"] = Napi::Function::New<Engine::open>(env, "openEngine");
  exports["describeFile"] = Napi::Function::New<describe_file>(env, "describeFile");
  exports["packedSize"] = Napi::Function::New<packed_size>(env, "packedSize");
  exports["pack"] = Napi::Function::New<pack>(env, "pack");
  exports["unpackRows"] = Napi::Function::New<unpack_rows>(env, "unpackRows");
  exports["selfTest"] = Napi::Function::New<self_test>(env, "selfTest");
  exports["readBandwidth"] = Napi::Function::New<read_bandwidth>(env, "readBandwidth");
  exports["measuredKernels"] = Napi::Function::New<measured_kernels>(env, "measuredKernels");
  exports["measureKernel"] = Napi::Function::New<measure_kernel>(env, "measureKernel");
  exports["arithmeticPeak"] = Napi::Function::New<arithmetic_peak>(env, "arithmeticPeak");
  exports["peerCredentials"] = Napi::Function::New<peer_credentials>(env, "peerCredentials");
  exports["writable"] = Napi::Function::New<writable>(env, "writable");
  exports["notifySystemd"] = Napi::Function::New<notify_systemd>(env, "notifySystemd");
  exports["listeningSocket"] = Napi::Function::New<listening_socket>(env, "listeningSocket");
  exports["groupId"] = Napi::Function::New<group_id>(env, "groupId");
  exports["tryLock"] = Napi::Function::New<try_lock>(env, "tryLock");
  exports["openPty"] = Napi::Function::New<open_pty>(env, "openPty");
  exports["ptyBaud"] = Napi::Function::New<pty_baud>(env, "ptyBaud");
  return exports;
}

}  // namespace
}  // namespace spiked::addon

static Napi::Object spiked_init(Napi::Env env, Napi::Object exports) {
  return spiked::addon::init(env, exports);
}

NODE_API_MODULE(spiked, spiked_init)
