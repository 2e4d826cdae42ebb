#include <fcntl.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "arg_reader.h"
#include "functions.h"

namespace spiked::addon {
namespace {

/// The other end passes bytes as they are from its first moment on: no echo, no line editing, no signals.
bool make_raw(int fd) {
  termios mode{};
  if (tcgetattr(fd, &mode) != 0) return false;
  cfmakeraw(&mode);
  return tcsetattr(fd, TCSANOW, &mode) == 0;
}

/// The speeds that meters have.
struct Speed {
  speed_t code;
  uint32_t baud;
};
constexpr Speed kSpeeds[] = {{B1200, 1200},   {B2400, 2400},   {B4800, 4800},   {B9600, 9600},
                             {B19200, 19200}, {B38400, 38400}, {B57600, 57600}, {B115200, 115200}};

}  // namespace

Napi::Value open_pty(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  const int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  char path[64];
  if (fd < 0 || grantpt(fd) != 0 || unlockpt(fd) != 0 || ptsname_r(fd, path, sizeof path) != 0 ||
      !make_raw(fd)) {
    const std::string why = std::strerror(errno);
    if (fd >= 0) close(fd);
    return raise(env, {SPIKED_ERR_FILE_IO, "/dev/ptmx: expected a new pseudo-terminal, found " + why});
  }
  Napi::Object out = Napi::Object::New(env);
  out["fd"] = Napi::Number::New(env, fd);
  out["path"] = path;
  return out;
}

Napi::Value pty_baud(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  ArgReader args(env);
  const int fd = static_cast<int>(args.integer(info[0], "fd", 0, INT32_MAX));
  if (args.failed()) return raise(env, args.failure());
  termios mode{};
  if (tcgetattr(fd, &mode) != 0) return env.Null();
  for (const Speed& speed : kSpeeds) {
    if (speed.code == cfgetospeed(&mode)) return Napi::Number::New(env, speed.baud);
  }
  return env.Null();
}

}  // namespace spiked::addon
