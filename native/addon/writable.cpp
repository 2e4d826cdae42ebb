#include <poll.h>

#include "arg_reader.h"
#include "functions.h"

namespace spiked::addon {

Napi::Value writable(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  ArgReader args(env);
  const int fd = static_cast<int>(args.integer(info[0], "fd", 0, INT32_MAX));
  const int wait_ms = static_cast<int>(args.integer(info[1], "waitMs", 0, INT32_MAX));
  if (args.failed()) return raise(env, args.failure());
  pollfd asked{fd, POLLOUT, 0};
  // A broken pipe counts: writing to it does not block either, and says why.
  return Napi::Boolean::New(env, poll(&asked, 1, wait_ms) > 0);
}

}  // namespace spiked::addon
