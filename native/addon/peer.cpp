#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "arg_reader.h"
#include "functions.h"

namespace spiked::addon {
namespace {

/// Supplementary groups that the peer had when it connected; none where the system does not tell.
Napi::Array groups_of(Napi::Env env, int fd) {
  std::vector<gid_t> groups;
  socklen_t size = 0;
  // The first call only says how many there are.
  while (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) {
    if (errno != ERANGE) size = 0;
    if (size == 0) break;
    groups.resize(size / sizeof(gid_t));
  }
  Napi::Array out = Napi::Array::New(env);
  for (uint32_t i = 0; i < size / sizeof(gid_t); ++i) out[i] = Napi::Number::New(env, groups[i]);
  return out;
}

}  // namespace

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
  out["groups"] = groups_of(env, fd);
  return out;
}

}  // namespace spiked::addon
