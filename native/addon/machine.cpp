#include <vector>

#include "arg_reader.h"
#include "background.h"
#include "env_state.h"
#include "functions.h"

namespace spiked::addon {
namespace {

struct Line {
  std::string kernel, detail;
  uint64_t cases, failures;
};

class SelfTestJob : public Job {
 public:
  SelfTestJob(Napi::Env env, std::string isa, uint64_t seed) : Job(env), isa_(std::move(isa)), seed_(seed) {}

  void run() override {
    spiked_error error{};
    const spiked_status status = spiked_self_test(isa_.c_str(), seed_, &SelfTestJob::note, this, &error);
    // A kernel that differs is a result, told by its line; everything else is an error.
    bool told = false;
    for (const Line& line : lines_) told = told || line.failures > 0;
    if (status != SPIKED_OK && !(status == SPIKED_ERR_CHECK_FAILED && told)) failure_ = failure_of(error);
  }

 protected:
  Napi::Value value(Napi::Env env) override {
    Napi::Array out = Napi::Array::New(env, lines_.size());
    for (uint32_t i = 0; i < lines_.size(); ++i) {
      Napi::Object line = Napi::Object::New(env);
      line["kernel"] = lines_[i].kernel;
      line["cases"] = Napi::Number::New(env, static_cast<double>(lines_[i].cases));
      line["failures"] = Napi::Number::New(env, static_cast<double>(lines_[i].failures));
      line["detail"] = lines_[i].detail;
      out[i] = line;
    }
    return out;
  }

 private:
  static void note(void* user, const char* kernel, uint64_t cases, uint64_t failures, const char* detail) {
    static_cast<SelfTestJob*>(user)->lines_.push_back(
        {kernel, detail == nullptr ? "" : detail, cases, failures});
  }

  std::string isa_;
  uint64_t seed_;
  std::vector<Line> lines_;
};

class BandwidthJob : public Job {
 public:
  BandwidthJob(Napi::Env env, uint32_t n_threads, size_t size_bytes, uint32_t rounds)
      : Job(env), n_threads_(n_threads), size_bytes_(size_bytes), rounds_(rounds) {}

  void run() override {
    spiked_error error{};
    if (spiked_read_bandwidth(n_threads_, size_bytes_, rounds_, &gb_per_s_, &error) != SPIKED_OK) {
      failure_ = failure_of(error);
    }
  }

 protected:
  Napi::Value value(Napi::Env env) override { return Napi::Number::New(env, gb_per_s_); }

 private:
  uint32_t n_threads_;
  size_t size_bytes_;
  uint32_t rounds_;
  double gb_per_s_ = 0;
};

}  // namespace

Napi::Value set_error_factory(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  ArgReader args(env);
  const Napi::Function make = args.function(info[0], "make");
  if (args.failed()) return raise(env, args.failure());
  EnvState::of(env).make_error = Napi::Persistent(make);
  return env.Undefined();
}

Napi::Value build(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  spiked_build build{};
  spiked_build_info(&build);
  Napi::Object out = Napi::Object::New(env);
  out["version"] = build.version;
  out["commit"] = build.commit;
  out["compiler"] = build.compiler;
  out["numericsVersion"] = Napi::Number::New(env, build.numerics_version);
  out["modelFormatVersion"] = Napi::Number::New(env, build.model_format_version);
  return out;
}

Napi::Value isas(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  Napi::Array out = Napi::Array::New(env);
  int32_t supported = 0;
  for (uint32_t i = 0; const char* name = spiked_isa(i, &supported); ++i) {
    Napi::Object isa = Napi::Object::New(env);
    isa["name"] = name;
    isa["supported"] = supported != 0;
    out[i] = isa;
  }
  return out;
}

Napi::Value self_test(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  ArgReader args(env);
  std::string isa = args.string(info[0], "isa");
  const uint64_t seed = args.u64(info[1], "seed");
  if (args.failed()) return rejection(env, args.failure());
  return Background::start(env, std::make_unique<SelfTestJob>(env, std::move(isa), seed));
}

Napi::Value read_bandwidth(const Napi::CallbackInfo& info) {
  constexpr double kMaxBytes = 1099511627776;  // 1 TiB
  Napi::Env env = info.Env();
  ArgReader args(env);
  const auto threads = static_cast<uint32_t>(args.integer(info[0], "threads", 1, 256));
  const auto size_bytes = static_cast<size_t>(args.integer(info[1], "sizeBytes", 1, kMaxBytes));
  const auto rounds = static_cast<uint32_t>(args.integer(info[2], "rounds", 1, 1000));
  if (args.failed()) return rejection(env, args.failure());
  return Background::start(env, std::make_unique<BandwidthJob>(env, threads, size_bytes, rounds));
}

}  // namespace spiked::addon
