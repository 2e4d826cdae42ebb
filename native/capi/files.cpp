#include "session/files.h"

#include "capi/guard.h"

using namespace spiked;
using namespace spiked::capi;

spiked_status spiked_catch_lost_pages(spiked_error* error) {
  return guard(error, [&]() -> Status { return catch_lost_pages(); });
}

spiked_status spiked_file_describe(const char* path, spiked_emit emit, void* user, spiked_error* error) {
  return guard(error, [&]() -> Status {
    SPIKED_TRY(require(path, "path"));
    auto text = describe_file(path);
    if (!text.ok()) return text.status();
    emit(user, text.value().data(), text.value().size());
    return {};
  });
}

size_t spiked_packed_size(int32_t dtype, int32_t layout, size_t rows, size_t cols, size_t* scale_floats) {
  auto s = Storage::of(dtype, layout);
  if (!s.ok()) return 0;
  const PackedShape p = packed_shape(s.value().layout, rows, cols);
  if (scale_floats != nullptr) *scale_floats = s.value().dtype == DType::kI8 ? p.rows : 0;
  return p.size_bytes(s.value().dtype);
}

spiked_status spiked_pack(int32_t dtype, int32_t layout, const float* w, size_t rows, size_t cols, void* out,
                          float* scale, spiked_error* error) {
  return guard(error, [&]() -> Status {
    auto s = Storage::of(dtype, layout);
    if (!s.ok()) return s.status();
    if (rows * cols != 0) {
      SPIKED_TRY(require(w, "w"));
      SPIKED_TRY(require(out, "out"));
    }
    if (s.value().dtype == DType::kI8) SPIKED_TRY(require(scale, "scale"));
    return pack(s.value().dtype, s.value().layout, w, rows, cols, out, scale);
  });
}

spiked_status spiked_unpack_rows(int32_t dtype, int32_t layout, const void* data, const float* scale,
                                 size_t rows, size_t cols, size_t row_begin, size_t row_end, float* out,
                                 spiked_error* error) {
  return guard(error, [&]() -> Status {
    auto s = Storage::of(dtype, layout);
    if (!s.ok()) return s.status();
    if (row_begin > row_end || row_end > rows)
      return {Code::ERR_INVALID_ARGUMENT,
              format("rows: expected a range inside 0 to %zu, found %zu to %zu", rows, row_begin, row_end)};
    if (row_begin == row_end || cols == 0) return {};
    SPIKED_TRY(require(data, "data"));
    SPIKED_TRY(require(out, "out"));
    if (s.value().dtype == DType::kI8) SPIKED_TRY(require(scale, "scale"));
    const Layout as = s.value().layout;
    unpack_rows({s.value().dtype, as, rows, cols, packed_shape(as, rows, cols), data, scale}, row_begin,
                row_end, out);
    return {};
  });
}
