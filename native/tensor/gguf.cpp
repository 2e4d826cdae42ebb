#include "tensor/gguf.h"

#include <algorithm>
#include <bit>

#include "tensor/gguf_cursor.h"
#include "tensor/matrix.h"

namespace spiked {
namespace {

constexpr uint64_t kMaxKeyBytes = 65535, kMaxNameBytes = 255;
constexpr uint32_t kMaxAlignment = 1u << 20;
// The shortest possible entries: what bounds the declared counts by the file's size.
constexpr uint64_t kMinEntryBytes = 8 + 1 + 4 + 1, kMinTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;

const char* const kTypeNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                  "bool", "string", "array", "u64", "i64", "f64"};
constexpr uint32_t kTypeBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

Status bad(const std::string& path, const std::string& what) {
  return {Code::ERR_MODEL_INVALID, path + ": " + what};
}

bool contains_nul(std::string_view s) { return s.find('\0') != std::string_view::npos; }

Status read_array(GgufCursor& in, const std::string& path, GgufEntry& e) {
  uint32_t element = 0;
  if (!in.read(element) || !in.read(e.length))
    return bad(path, format("truncated in array \"%s\"", std::string(e.key).c_str()));
  if (gguf_type_name(element) == nullptr || element == static_cast<uint32_t>(GgufType::kArray))
    return bad(path,
               format("array \"%s\": element type %u is not supported", std::string(e.key).c_str(), element));
  e.element_type = static_cast<GgufType>(element);
  e.data = in.here();
  if (e.element_type == GgufType::kString) {
    if (e.length > in.left() / 8)
      return bad(path, format("array \"%s\": %llu strings do not fit the file", std::string(e.key).c_str(),
                              (unsigned long long)e.length));
    for (uint64_t i = 0; i < e.length; ++i) {
      std::string_view s;
      if (!in.read_string(s, UINT64_MAX))
        return bad(path, format("array \"%s\": string %llu passes the end of the file",
                                std::string(e.key).c_str(), (unsigned long long)i));
    }
    return {};
  }
  const uint64_t width = kTypeBytes[element];
  if (e.length > in.left() / width || !in.skip(e.length * width))
    return bad(path, format("array \"%s\": %llu elements do not fit the file", std::string(e.key).c_str(),
                            (unsigned long long)e.length));
  return {};
}

Status read_entry(GgufCursor& in, const std::string& path, uint64_t index, GgufEntry& e) {
  if (!in.read_string(e.key, kMaxKeyBytes) || e.key.empty() || contains_nul(e.key))
    return bad(path, format("metadata entry %llu: its key is empty, too long or passes the end of the file",
                            (unsigned long long)index));
  uint32_t type = 0;
  if (!in.read(type) || gguf_type_name(type) == nullptr)
    return bad(path, format("metadata \"%s\": expected a value type 0..12, found %u",
                            std::string(e.key).c_str(), type));
  e.type = static_cast<GgufType>(type);
  e.element_type = e.type;
  e.length = 1;
  if (e.type == GgufType::kArray) return read_array(in, path, e);
  if (e.type == GgufType::kString) {
    std::string_view s;
    if (!in.read_string(s, UINT64_MAX))
      return bad(
          path, format("metadata \"%s\": its string passes the end of the file", std::string(e.key).c_str()));
    e.data = reinterpret_cast<const uint8_t*>(s.data());
    e.length = s.size();
    return {};
  }
  e.data = in.here();
  if (!in.skip(kTypeBytes[type]))
    return bad(path, format("metadata \"%s\": truncated", std::string(e.key).c_str()));
  if (e.type == GgufType::kBool && *e.data > 1)
    return bad(path, format("metadata \"%s\": expected a bool 0 or 1, found %u", std::string(e.key).c_str(),
                            *e.data));
  return {};
}

Status read_tensor(GgufCursor& in, const std::string& path, uint64_t index, GgufTensor& t, uint64_t& offset) {
  if (!in.read_string(t.name, kMaxNameBytes) || t.name.empty() || contains_nul(t.name))
    return bad(path, format("tensor %llu: its name is empty, too long or passes the end of the file",
                            (unsigned long long)index));
  const std::string name(t.name);
  if (!in.read(t.n_dims) || t.n_dims < 1 || t.n_dims > 4)
    return bad(path, format("tensor \"%s\": expected 1 to 4 dims, found %u", name.c_str(), t.n_dims));
  uint64_t n = 1;
  for (uint64_t& d : t.dims) d = 1;
  for (uint32_t i = 0; i < t.n_dims; ++i) {
    if (!in.read(t.dims[i])) return bad(path, format("tensor \"%s\": truncated", name.c_str()));
    if (t.dims[i] == 0 || __builtin_mul_overflow(n, t.dims[i], &n))
      return bad(path, format("tensor \"%s\": dim %u is 0 or the element count overflows", name.c_str(), i));
  }
  if (!in.read(t.type) || !in.read(offset))
    return bad(path, format("tensor \"%s\": truncated", name.c_str()));
  const auto size_bytes = ggml_size_bytes(t.type, t.dims[0], n);
  if (!size_bytes && ggml_type_name(t.type) == nullptr)
    return bad(path, format("tensor \"%s\": type %u%s is unknown", name.c_str(), t.type,
                            t.type == 38   ? " (TL1 of bitnet.cpp)"
                            : t.type == 39 ? " (TL2 of bitnet.cpp)"
                                           : ""));
  if (!size_bytes)
    return bad(path, format("tensor \"%s\": its rows of %llu are no whole blocks of %s", name.c_str(),
                            (unsigned long long)t.dims[0], ggml_type_name(t.type)));
  t.size_bytes = *size_bytes;
  return {};
}

}  // namespace

const char* gguf_type_name(uint32_t type) {
  return type < std::size(kTypeNames) ? kTypeNames[type] : nullptr;
}

Result<std::shared_ptr<const GgufFile>> GgufFile::open(const std::string& path, Loading loading,
                                                       Ledger* ledger, bool f16_on_disk) {
  std::shared_ptr<GgufFile> file(new GgufFile(path));
  SPIKED_TRY(file->map());
  const Status status = file->read(loading, ledger, f16_on_disk);
  // First: what was found in a file that changed says nothing.
  SPIKED_TRY(file->unchanged());
  SPIKED_TRY(status);
  return std::shared_ptr<const GgufFile>(std::move(file));
}

Status GgufFile::unchanged() const {
  if (!bytes_.changed()) return {};
  return {Code::ERR_MODEL_FILE_CHANGED, path_ +
                                            ": expected the file as it was loaded, found it written to, cut "
                                            "or unreadable since; load it again"};
}

Status GgufFile::read(Loading loading, Ledger* ledger, bool f16_on_disk) {
  SPIKED_TRY(parse());
  SPIKED_TRY(check_ranges());
  std::vector<FilePart> unread;
  if (f16_on_disk) unread.push_back({0, data_offset_});
  for (const GgufTensor& t : tensors_)
    if (f16_on_disk && t.type == static_cast<uint32_t>(DType::kF16))
      unread.push_back({offset_of(t.data), offset_of(t.data) + t.size_bytes});
  std::sort(unread.begin(), unread.end(),
            [](const FilePart& a, const FilePart& b) { return a.begin < b.begin; });
  // Only what proved to be a model is read whole.
  SPIKED_TRY(bytes_.load(loading, path_, ledger, unread));
  if (loading != Loading::kHugePages) return {};
  // What was copied may be newer than what was parsed.
  SPIKED_TRY(parse());
  return check_ranges();
}

Status GgufFile::map() {
  auto bytes = FileBytes::map(path_);
  if (!bytes.ok()) return bytes.status();
  bytes_ = bytes.take();
  base_ = bytes_.data();
  size_ = bytes_.size();
  if (size_ < 24)
    return bad(path_, format("expected a GGUF header of 24 bytes, found a file of %llu bytes",
                             (unsigned long long)size_));
  return {};
}

Status GgufFile::parse() {
  GgufCursor in(base_, size_);
  uint32_t magic = 0, version = 0;
  uint64_t n_tensors = 0, n_entries = 0;
  in.read(magic);
  in.read(version);
  in.read(n_tensors);
  in.read(n_entries);
  if (magic != 0x46554747u)
    return bad(path_, format("expected magic \"GGUF\", found bytes %02x %02x %02x %02x", base_[0], base_[1],
                             base_[2], base_[3]));
  if (version != 3) return bad(path_, format("expected GGUF version 3, found %u", version));
  if (n_entries > in.left() / kMinEntryBytes)
    return bad(path_, format("%llu metadata entries do not fit a file of %llu bytes",
                             (unsigned long long)n_entries, (unsigned long long)size_));
  if (n_tensors > in.left() / kMinTensorBytes)
    return bad(path_, format("%llu tensors do not fit a file of %llu bytes", (unsigned long long)n_tensors,
                             (unsigned long long)size_));
  metadata_.resize(n_entries);
  for (uint64_t i = 0; i < n_entries; ++i) SPIKED_TRY(read_entry(in, path_, i, metadata_[i]));
  by_key_.resize(n_entries);
  for (uint32_t i = 0; i < n_entries; ++i) by_key_[i] = i;
  std::sort(by_key_.begin(), by_key_.end(),
            [&](uint32_t a, uint32_t b) { return metadata_[a].key < metadata_[b].key; });
  for (size_t i = 1; i < by_key_.size(); ++i)
    if (metadata_[by_key_[i]].key == metadata_[by_key_[i - 1]].key)
      return bad(path_,
                 format("metadata \"%s\" stands twice", std::string(metadata_[by_key_[i]].key).c_str()));

  if (find("general.alignment") != nullptr) {
    auto alignment = get_u32(*this, "general.alignment");
    if (!alignment.ok()) return alignment.status();
    alignment_ = alignment.value();
  }
  if (!std::has_single_bit(alignment_) || alignment_ < 8 || alignment_ > kMaxAlignment)
    return bad(path_, format("general.alignment: expected a power of two from 8 to %u, found %u",
                             kMaxAlignment, alignment_));

  tensors_.resize(n_tensors);
  std::vector<uint64_t> offsets(n_tensors);
  for (uint64_t i = 0; i < n_tensors; ++i) SPIKED_TRY(read_tensor(in, path_, i, tensors_[i], offsets[i]));
  const uint64_t header_end = in.position();
  data_offset_ = (header_end + alignment_ - 1) / alignment_ * alignment_;
  if (n_tensors != 0 && data_offset_ > size_)
    return bad(path_, "the data section starts past the end of the file");
  for (uint64_t i = 0; i < n_tensors; ++i) {
    GgufTensor& t = tensors_[i];
    const uint64_t room = size_ - data_offset_;
    if (offsets[i] % alignment_ != 0)
      return bad(path_, format("tensor \"%s\": offset %llu is no multiple of the alignment %u",
                               std::string(t.name).c_str(), (unsigned long long)offsets[i], alignment_));
    if (offsets[i] > room || t.size_bytes > room - offsets[i])
      return bad(
          path_,
          format("tensor \"%s\": expected %llu bytes at offset %llu, found a data section of %llu bytes",
                 std::string(t.name).c_str(), (unsigned long long)t.size_bytes,
                 (unsigned long long)offsets[i], (unsigned long long)room));
    t.data = base_ + data_offset_ + offsets[i];
  }
  return {};
}

Status GgufFile::check_ranges() {
  std::vector<uint32_t> order(tensors_.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return tensors_[a].data < tensors_[b].data; });
  for (size_t i = 1; i < order.size(); ++i) {
    const GgufTensor &a = tensors_[order[i - 1]], &b = tensors_[order[i]];
    if (a.data + a.size_bytes > b.data)
      return bad(path_, format("tensors \"%s\" and \"%s\" overlap", std::string(a.name).c_str(),
                               std::string(b.name).c_str()));
  }
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return tensors_[a].name < tensors_[b].name; });
  for (size_t i = 1; i < order.size(); ++i)
    if (tensors_[order[i]].name == tensors_[order[i - 1]].name)
      return bad(path_, format("tensor \"%s\" stands twice", std::string(tensors_[order[i]].name).c_str()));
  by_name_ = std::move(order);
  return {};
}

const GgufEntry* GgufFile::find(std::string_view key) const {
  auto it = std::lower_bound(by_key_.begin(), by_key_.end(), key,
                             [&](uint32_t i, std::string_view k) { return metadata_[i].key < k; });
  return it != by_key_.end() && metadata_[*it].key == key ? &metadata_[*it] : nullptr;
}

const GgufTensor* GgufFile::tensor(std::string_view name) const {
  auto it = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                             [&](uint32_t i, std::string_view k) { return tensors_[i].name < k; });
  return it != by_name_.end() && tensors_[*it].name == name ? &tensors_[*it] : nullptr;
}

}  // namespace spiked
