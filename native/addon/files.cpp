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
  size_t size_bytes, n_scales;  // of the packed form
};

Shape read_shape(ArgReader& args, const Napi::CallbackInfo& info, size_t rows_at) {
  constexpr double kMaxSide = 1 << 24;  // docs/numerics.md: sums of fewer than 2^24 columns
  constexpr int32_t kDtypes[] = {SPIKED_F32, SPIKED_I8, SPIKED_I4};
  constexpr int32_t kLayouts[] = {SPIKED_ROW_MAJOR, SPIKED_PANEL_4X32, SPIKED_COLUMN_MAJOR,
                                  SPIKED_PANEL_4X32_I4};
  const size_t dtype = args.choice(info[0], "dtype", {"f32", "i8", "i4"});
  const std::vector<std::string> layouts = {"row_major", "panel_4x32", "column_major", "panel_4x32_i4"};
  const size_t layout = args.choice(info[1], "layout", layouts);
  const double rows = args.integer(info[rows_at], "rows", 1, kMaxSide);
  const double cols = args.integer(info[rows_at + 1], "cols", 1, kMaxSide);
  if (args.failed()) return {};
  Shape shape{kDtypes[dtype], kLayouts[layout], static_cast<size_t>(rows), static_cast<size_t>(cols), 0, 0};
  shape.size_bytes = spiked_packed_size(shape.dtype, shape.layout, shape.rows, shape.cols, &shape.n_scales);
  if (shape.size_bytes == 0) args.fail("layout", "one that the dtype has", "\"" + layouts[layout] + "\"");
  return shape;
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
  return Napi::Number::New(env, static_cast<double>(shape.size_bytes));
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

  const auto [size_bytes, n_scales] = std::pair(shape.size_bytes, shape.n_scales);
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

Napi::Value unpack_rows(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  ArgReader args(env);
  const Shape shape = read_shape(args, info, 4);
  const Napi::Uint8Array data = args.bytes(info[2], "data", shape.size_bytes);
  Napi::Float32Array scale;
  if (shape.n_scales > 0) {
    scale = args.floats(info[3], "scale");
    if (!args.failed() && scale.ElementLength() != shape.n_scales)
      args.fail("scale", std::to_string(shape.n_scales) + " values", std::to_string(scale.ElementLength()));
  }
  const auto last = static_cast<double>(shape.rows);
  const auto begin = static_cast<size_t>(args.integer(info[6], "from", 0, last));
  const auto end = static_cast<size_t>(args.integer(info[7], "to", static_cast<double>(begin), last));
  Napi::Float32Array into;
  if (!args.failed()) into = args.floats(info[8], "into");
  if (!args.failed() && into.ElementLength() != (end - begin) * shape.cols)
    args.fail("into", std::to_string((end - begin) * shape.cols) + " values (rows x cols)",
              std::to_string(into.ElementLength()));
  if (args.failed()) return raise(env, args.failure());
  spiked_error error{};
  if (spiked_unpack_rows(shape.dtype, shape.layout, data.Data(), shape.n_scales > 0 ? scale.Data() : nullptr,
                         shape.rows, shape.cols, begin, end, into.Data(), &error) != SPIKED_OK)
    return raise(env, failure_of(error));
  return into;
}

}  // namespace spiked::addon
