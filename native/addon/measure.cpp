#include "arg_reader.h"
#include "background.h"
#include "functions.h"

namespace spiked::addon {
namespace {

Napi::Number number(Napi::Env env, uint64_t value) {
  return Napi::Number::New(env, static_cast<double>(value));
}

Napi::Object spread(Napi::Env env, const spiked_spread& found) {
  Napi::Object out = Napi::Object::New(env);
  out["median"] = Napi::Number::New(env, found.median);
  out["min"] = Napi::Number::New(env, found.min);
  out["max"] = Napi::Number::New(env, found.max);
  return out;
}

class KernelJob : public Job {
 public:
  KernelJob(Napi::Env env, std::string isa, std::string kernel, uint32_t n_threads, size_t size_bytes,
            uint32_t rounds)
      : Job(env),
        isa_(std::move(isa)),
        kernel_(std::move(kernel)),
        n_threads_(n_threads),
        size_bytes_(size_bytes),
        rounds_(rounds) {}

  void run() override {
    spiked_error error{};
    if (spiked_measure_kernel(isa_.c_str(), kernel_.c_str(), n_threads_, size_bytes_, rounds_, &rate_,
                              &error) != SPIKED_OK)
      failure_ = failure_of(error);
  }

 protected:
  Napi::Value value(Napi::Env env) override {
    Napi::Object read = Napi::Object::New(env);
    read["bytes"] = number(env, rate_.bytes);
    read["gbPerS"] = spread(env, rate_.gb_per_s);
    read["readGbPerS"] = spread(env, rate_.read_gb_per_s);
    read["share"] = spread(env, rate_.read_share);
    Napi::Object out = Napi::Object::New(env);
    out["read"] = read;
    out["batch"] = batch(env);
    return out;
  }

 private:
  Napi::Value batch(Napi::Env env) const {
    if (rate_.tokens == 0) return env.Null();
    Napi::Object out = Napi::Object::New(env);
    out["tokens"] = number(env, rate_.tokens);
    out["macs"] = number(env, rate_.macs);
    out["gmacPerS"] = spread(env, rate_.gmac_per_s);
    out["peak"] = env.Null();
    if (rate_.peak_instructions == nullptr) return out;
    Napi::Object peak = Napi::Object::New(env);
    peak["gmacPerS"] = spread(env, rate_.peak_gmac_per_s);
    peak["share"] = spread(env, rate_.peak_share);
    peak["instructions"] = rate_.peak_instructions;
    out["peak"] = peak;
    return out;
  }

  std::string isa_, kernel_;
  uint32_t n_threads_;
  size_t size_bytes_;
  uint32_t rounds_;
  spiked_kernel_rate rate_{};
};

class PeakJob : public Job {
 public:
  PeakJob(Napi::Env env, std::string isa, int32_t dtype, int32_t activations, uint32_t n_threads,
          uint32_t rounds)
      : Job(env),
        isa_(std::move(isa)),
        dtype_(dtype),
        activations_(activations),
        n_threads_(n_threads),
        rounds_(rounds) {}

  void run() override {
    spiked_error error{};
    if (spiked_arithmetic_peak(isa_.c_str(), dtype_, activations_, n_threads_, rounds_, &gmac_per_s_,
                               &instructions_, &error) != SPIKED_OK)
      failure_ = failure_of(error);
  }

 protected:
  Napi::Value value(Napi::Env env) override {
    if (instructions_ == nullptr) return env.Null();
    Napi::Object out = Napi::Object::New(env);
    out["gmacPerS"] = spread(env, gmac_per_s_);
    out["instructions"] = instructions_;
    return out;
  }

 private:
  std::string isa_;
  int32_t dtype_, activations_;
  uint32_t n_threads_, rounds_;
  spiked_spread gmac_per_s_{};
  const char* instructions_ = nullptr;
};

}  // namespace

Napi::Value measured_kernels(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  Napi::Array out = Napi::Array::New(env);
  for (uint32_t i = 0; const char* name = spiked_measured_kernel(i); ++i) out[i] = name;
  return out;
}

Napi::Value measure_kernel(const Napi::CallbackInfo& info) {
  constexpr double kMaxBytes = 1099511627776;  // 1 TiB
  Napi::Env env = info.Env();
  ArgReader args(env);
  std::string isa = args.string(info[0], "isa");
  std::string kernel = args.string(info[1], "kernel");
  const auto threads = static_cast<uint32_t>(args.integer(info[2], "threads", 1, 256));
  const auto size_bytes = static_cast<size_t>(args.integer(info[3], "sizeBytes", 1, kMaxBytes));
  const auto rounds = static_cast<uint32_t>(args.integer(info[4], "rounds", 1, 1000));
  if (args.failed()) return rejection(env, args.failure());
  return Background::start(
      env, std::make_unique<KernelJob>(env, std::move(isa), std::move(kernel), threads, size_bytes, rounds));
}

Napi::Value arithmetic_peak(const Napi::CallbackInfo& info) {
  constexpr int32_t kDtypes[] = {SPIKED_F32, SPIKED_I8, SPIKED_I4};
  Napi::Env env = info.Env();
  ArgReader args(env);
  std::string isa = args.string(info[0], "isa");
  const int32_t dtype = kDtypes[args.choice(info[1], "weights", {"f32", "i8", "i4"})];
  // The choices stand in the order of the C enum.
  const auto activations = static_cast<int32_t>(args.choice(info[2], "activations", {"f32", "i8", "i16"}));
  const auto threads = static_cast<uint32_t>(args.integer(info[3], "threads", 1, 256));
  const auto rounds = static_cast<uint32_t>(args.integer(info[4], "rounds", 1, 1000));
  if (args.failed()) return rejection(env, args.failure());
  return Background::start(
      env, std::make_unique<PeakJob>(env, std::move(isa), dtype, activations, threads, rounds));
}

}  // namespace spiked::addon
