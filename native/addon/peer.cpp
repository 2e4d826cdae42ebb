#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "arg_reader.h"
#include "functions.h"

namespace spiked::addon {

Napi::Value peer_credentials(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  ArgReader args(env);
  const int fd = static_cast<int>(args.integer(info[0], "fd", 0, INT32_MAX));
  if (args.failed()) return raise(env, args.failure());
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  // A socket that has no peer answers with uid -1; a pid of 0 is a peer in another pid namespace.
  if (!known || peer.uid == static_cast<uid_t>(-1)) {
    const std::string why = known ? "a socket without such a peer" : std::strerror(errno);
    args.fail("fd " + std::to_string(fd), "a connected Unix socket", why);
    return raise(env, args.failure());
  }
  Napi::Object out = Napi::Object::New(env);
  out["pid"] = Napi::Number::New(env, peer.pid);
  out["uid"] = Napi::Number::New(env, peer.uid);
  out["gid"] = Napi::Number::New(env, peer.gid);
  return out;
}

}  // namespace spiked::addon
