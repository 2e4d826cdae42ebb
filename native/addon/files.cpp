#include "arg_reader.h"
#include "background.h"
#include "functions.h"

namespace spiked::addon {
namespace {

class DescribeJob : public Job {
 public:
  DescribeJob(Napi::Env env, std::string path) : Job(env), path_(std::move(path)) {}

  void run() override {
    spiked_error error{};
    if (spiked_file_describe(path_.c_str(), &DescribeJob::keep, this, &error) != SPIKED_OK) {
      failure_ = failure_of(error);
    }
  }

 protected:
  Napi::Value value(Napi::Env env) override { return Napi::String::New(env, text_); }

 private:
  static void keep(void* user, const char* text, size_t length) {
    static_cast<DescribeJob*>(user)->text_.append(text, length);
  }

  std::string path_, text_;
};

struct Shape {
  int32_t dtype, layout;
  size_t rows, cols;
};

Shape read_shape(ArgReader& args, const Napi::CallbackInfo& info, size_t rows_at) {
  constexpr double kMaxSide = 1 << 24;  // docs/numerics.md: sums of fewer than 2^24 columns
  constexpr int32_t kDtypes[] = {SPIKED_F32, SPIKED_I8};
  constexpr int32_t kLayouts[] = {SPIKED_ROW_MAJOR, SPIKED_PANEL_4X32, SPIKED_COLUMN_MAJOR};
  const size_t dtype = args.choice(info[0], "dtype", {"f32", "i8"});
  const size_t layout = args.choice(info[1], "layout", {"row_major", "panel_4x32", "column_major"});
  const double rows = args.integer(info[rows_at], "rows", 1, kMaxSide);
  const double cols = args.integer(info[rows_at + 1], "cols", 1, kMaxSide);
  return {kDtypes[dtype], kLayouts[layout], static_cast<size_t>(rows), static_cast<size_t>(cols)};
}

}  // namespace

Napi::Value describe_file(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  ArgReader args(env);
  std::string path = args.string(info[0], "path");
  if (args.failed()) return rejection(env, args.failure());
  return Background::start(env, std::make_unique<DescribeJob>(env, std::move(path)));
}

Napi::Value packed_size(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  ArgReader args(env);
  const Shape shape = read_shape(args, info, 2);
  if (args.failed()) return raise(env, args.failure());
  size_t n_scales = 0;
  const size_t size_bytes = spiked_packed_size(shape.dtype, shape.layout, shape.rows, shape.cols, &n_scales);
  return Napi::Number::New(env, static_cast<double>(size_bytes));
}

Napi::Value pack(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  ArgReader args(env);
  const Napi::Float32Array source = args.floats(info[2], "source");
  const Shape shape = read_shape(args, info, 3);
  if (!args.failed() && source.ElementLength() != shape.rows * shape.cols) {
    args.fail("source", std::to_string(shape.rows * shape.cols) + " values (rows x cols)",
              std::to_string(source.ElementLength()));
  }
  if (args.failed()) return raise(env, args.failure());

  size_t n_scales = 0;
  const size_t size_bytes = spiked_packed_size(shape.dtype, shape.layout, shape.rows, shape.cols, &n_scales);
  const bool is_fresh = info[5].IsUndefined();
  Napi::Uint8Array data =
      is_fresh ? Napi::Uint8Array::New(env, size_bytes) : args.bytes(info[5], "into", size_bytes);
  if (args.failed()) return raise(env, args.failure());
  Napi::Float32Array scale;
  if (n_scales > 0) scale = Napi::Float32Array::New(env, n_scales);
  if (env.IsExceptionPending()) return {};
  spiked_error error{};
  if (spiked_pack(shape.dtype, shape.layout, source.Data(), shape.rows, shape.cols, data.Data(),
                  n_scales > 0 ? scale.Data() : nullptr, &error) != SPIKED_OK) {
    return raise(env, failure_of(error));
  }
  Napi::Object out = Napi::Object::New(env);
  out["data"] = data;
  out["scale"] = n_scales > 0 ? Napi::Value(scale) : env.Null();
  return out;
}

}  // namespace spiked::addon
