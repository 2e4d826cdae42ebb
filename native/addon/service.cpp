#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "arg_reader.h"
#include "functions.h"

namespace spiked::addon {
namespace {

/// A service manager that takes nothing for so long is given up on, for this message.
constexpr timeval kSendTimeout{1, 0};

bool send_datagram(const std::string& address, const std::string& text) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (address.size() < 2 || address.size() > sizeof to.sun_path) return false;
  std::memcpy(to.sun_path, address.data(), address.size());
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';  // an abstract name
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kSendTimeout, sizeof kSendTimeout);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
  const ssize_t sent =
      sendto(fd, text.data(), text.size(), MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&to), size);
  close(fd);
  return sent == static_cast<ssize_t>(text.size());
}

bool has_option(int fd, int option, int expected) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 && value == expected;
}

}  // namespace

Napi::Value notify_systemd(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  ArgReader args(env);
  const std::string address = args.string(info[0], "address");
  const std::string text = args.string(info[1], "text");
  if (args.failed()) return raise(env, args.failure());
  return Napi::Boolean::New(env, send_datagram(address, text));
}

Napi::Value listening_socket(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  ArgReader args(env);
  const int fd = static_cast<int>(args.integer(info[0], "fd", 0, INT32_MAX));
  if (args.failed()) return raise(env, args.failure());
  sockaddr_un name{};
  socklen_t size = sizeof name;
  if (!has_option(fd, SO_DOMAIN, AF_UNIX) || !has_option(fd, SO_TYPE, SOCK_STREAM) ||
      !has_option(fd, SO_ACCEPTCONN, 1) || getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0 ||
      fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    args.fail("fd " + std::to_string(fd), "a listening Unix stream socket", "something else");
    return raise(env, args.failure());
  }
  const size_t length = size - offsetof(sockaddr_un, sun_path);
  std::string path(name.sun_path, length);
  if (length > 0 && path[0] == '\0') path[0] = '@';
  return Napi::String::New(env, path.c_str());  // a path may come with its NUL
}

Napi::Value group_id(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  ArgReader args(env);
  const std::string name = args.string(info[0], "name");
  if (args.failed()) return raise(env, args.failure());
  std::vector<char> memory(1024);
  group entry{};
  group* found = nullptr;
  while (getgrnam_r(name.c_str(), &entry, memory.data(), memory.size(), &found) == ERANGE) {
    memory.resize(2 * memory.size());
  }
  if (found == nullptr) return env.Null();
  return Napi::Number::New(env, found->gr_gid);
}

Napi::Value try_lock(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  ArgReader args(env);
  const int fd = static_cast<int>(args.integer(info[0], "fd", 0, INT32_MAX));
  if (args.failed()) return raise(env, args.failure());
  return Napi::Boolean::New(env, flock(fd, LOCK_EX | LOCK_NB) == 0);
}

}  // namespace spiked::addon
