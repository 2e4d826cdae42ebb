#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/file_bytes.h"

namespace spiked {

/// Metadata value types of GGUF v3.
enum class GgufType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12
};

/// Name of a metadata type, or null for a number that is none.
const char* gguf_type_name(uint32_t type);

/// One metadata entry. Scalars and strings point into the mapped file.
struct GgufEntry {
  std::string_view key;
  GgufType type;
  GgufType element_type;  ///< of an array
  uint64_t length;        ///< bytes of a string, elements of an array
  const uint8_t* data;    ///< first byte of the value (of a string's bytes, of an array's first element)
};

/// One tensor: a checked range of the mapped file.
struct GgufTensor {
  std::string_view name;
  uint32_t type;  ///< ggml type number, a known one
  uint32_t n_dims;
  uint64_t dims[4];  ///< ne0 (fastest) first, unused ones 1
  uint64_t size_bytes;
  const uint8_t* data;
};

/// A GGUF v3 file, mapped read-only and checked so far that every entry and tensor can be read without further care:
/// counts, lengths, types, alignment, ranges, overlaps, duplicates. Thread-safe once open.
class GgufFile {
 public:
  /// f16_on_disk  nobody is going to read F16 tensors through the mapping (but by RowFile), nor metadata once the model is open: they are
  /// not brought into memory
  /// Errors: ERR_FILE_NOT_FOUND, ERR_FILE_IO, ERR_MODEL_INVALID (names file, entry, expected, found); ERR_MODEL_FILE_CHANGED meanwhile;
  /// ERR_RAM_BUDGET, ERR_NO_MEMORY (FileBytes::load).
  static Result<std::shared_ptr<const GgufFile>> open(const std::string& path,
                                                      Loading loading = Loading::kOnDemand,
                                                      Ledger* ledger = nullptr, bool f16_on_disk = false);
  GgufFile(const GgufFile&) = delete;
  GgufFile& operator=(const GgufFile&) = delete;

  const std::string& path() const { return path_; }
  /// Its bytes, where they are in memory.
  const uint8_t* data() const { return base_; }
  uint64_t size_bytes() const { return size_; }
  uint64_t data_offset() const { return data_offset_; }
  uint32_t alignment() const { return alignment_; }
  const std::vector<GgufEntry>& metadata() const { return metadata_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  const GgufEntry* find(std::string_view key) const;
  const GgufTensor* tensor(std::string_view name) const;
  /// ERR_MODEL_FILE_CHANGED when the file is mapped and is not the one that was opened any more (FileBytes::changed). Any thread.
  Status unchanged() const;
  /// Takes metadata and tensor table, of which nothing is read after a model is open, out of memory; reading them brings them back.
  void drop_header() const { bytes_.drop({0, data_offset_}); }
  /// FileBytes::read_at.
  Status read_at(uint64_t offset, size_t n_bytes, void* out) const {
    return bytes_.read_at(offset, n_bytes, out);
  }
  /// Offset in the file of a pointer into it.
  uint64_t offset_of(const uint8_t* p) const { return static_cast<uint64_t>(p - base_); }

 private:
  explicit GgufFile(std::string path) : path_(std::move(path)) {}
  Status read(Loading loading, Ledger* ledger, bool f16_on_disk);
  Status map();
  Status parse();
  Status check_ranges();

  std::string path_;
  FileBytes bytes_;
  const uint8_t* base_ = nullptr;  // of bytes_
  uint64_t size_ = 0, data_offset_ = 0;
  uint32_t alignment_ = 32;
  std::vector<GgufEntry> metadata_;
  std::vector<GgufTensor> tensors_;
  std::vector<uint32_t> by_key_, by_name_;  // indices sorted by key, by name
};

/// Typed reads of required metadata; each names file and key in its error.
Result<uint32_t> get_u32(const GgufFile& file, std::string_view key);
Result<float> get_f32(const GgufFile& file, std::string_view key);
Result<bool> get_bool(const GgufFile& file, std::string_view key);
Result<std::string_view> get_string(const GgufFile& file, std::string_view key);
Result<std::vector<uint64_t>> get_u64_array(const GgufFile& file, std::string_view key);

/// Bytes of n elements of a ggml type, or nullopt when the type is unknown, n is no multiple of its block, or it overflows.
std::optional<uint64_t> ggml_size_bytes(uint32_t type, uint64_t ne0, uint64_t n);
/// Name of a ggml type, or null.
const char* ggml_type_name(uint32_t type);

}  // namespace spiked
