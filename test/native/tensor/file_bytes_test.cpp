#include "tensor/file_bytes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "unit.h"

namespace {

using namespace spiked;

/// A file with contents, or only a length; removed at the end.
class File {
 public:
  explicit File(const std::string& bytes) {
    const int fd = mkstemp(name_.data());
    close(fd);
    std::ofstream(name_, std::ios::binary) << bytes;
  }
  ~File() { unlink(name_.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::string& path() const { return name_; }

 private:
  std::string name_ = std::filesystem::temp_directory_path() / "spiked-bytes-XXXXXX";
};

std::string some_bytes(size_t n) {
  std::string bytes(n, '\0');
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<char>(i * 2654435761u >> 24);
  return bytes;
}

const unit::Unit same_unit("file bytes: the same bytes whichever way they are loaded", [](unit::Test& t) {
  for (size_t n : {size_t{1}, size_t{4096}, (size_t{2} << 20) - 1, (size_t{5} << 20) + 3}) {
    const std::string expected = some_bytes(n);
    const File file(expected);
    for (Loading loading :
         {Loading::kOnDemand, Loading::kReadahead, Loading::kPrefault, Loading::kHugePages}) {
      auto mapped = FileBytes::map(file.path());
      t.expect(mapped.ok(), mapped.ok() ? "" : mapped.status().message());
      if (!mapped.ok()) return;
      FileBytes bytes = mapped.take();
      const uint8_t* before = bytes.data();
      const Status loaded = bytes.load(loading, file.path());
      t.expect(loaded.ok(), loaded.message());
      t.expect(bytes.size() == n && std::string(bytes.data(), bytes.data() + n) == expected,
               format("%zu bytes, loading %d", n, static_cast<int>(loading)));
      t.expect(bytes.data() == before, "nothing moves");
    }
  }
});

const unit::Unit parts_unit(
    "file bytes: what is not read stays mapped, and the file is watched", [](unit::Test& t) {
      const size_t n = (size_t{5} << 20) + 3, page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
      const std::string expected = some_bytes(n);
      // Whole pages, pages shared with what is read, less than a page, the begin and the end.
      const std::vector<std::vector<FilePart>> cases = {{{0, 3 * page}},
                                                        {{page + 1, 4 * page - 1}, {9 * page, 9 * page + 5}},
                                                        {{7, 9}},
                                                        {{2 * page, n}},
                                                        {{0, n}}};
      for (const std::vector<FilePart>& unread : cases)
        for (Loading loading : {Loading::kReadahead, Loading::kPrefault, Loading::kHugePages}) {
          const File file(expected);
          FileBytes bytes = FileBytes::map(file.path()).take();
          const Status loaded = bytes.load(loading, file.path(), nullptr, unread);
          const std::string what =
              format("unread from %llu to %llu, loading %d", static_cast<unsigned long long>(unread[0].begin),
                     static_cast<unsigned long long>(unread[0].end), static_cast<int>(loading));
          t.expect(loaded.ok(), loaded.message());
          t.expect(std::string(bytes.data(), bytes.data() + n) == expected, what);
          std::string row(5, '\0');
          t.expect(bytes.read_at(unread[0].begin, row.size(), row.data()).ok() &&
                       row == expected.substr(unread[0].begin, row.size()),
                   what + ": rows are read from the file");
          bytes.drop(unread[0]);
          t.expect(std::string(bytes.data(), bytes.data() + n) == expected,
                   what + ": dropped pages come back");
          t.expect(!bytes.changed(), what + ": unchanged");
          std::error_code error;
          std::filesystem::resize_file(file.path(), n - 1, error);
          t.expect(!error && bytes.changed(), what + ": cut by a byte");
        }
    });

const unit::Unit forgotten_unit("file bytes: a whole copy does not need the file", [](unit::Test& t) {
  const std::string expected = some_bytes((size_t{3} << 20) + 1);
  const File file(expected);
  FileBytes bytes = FileBytes::map(file.path()).take();
  t.expect(bytes.load(Loading::kHugePages, file.path()).ok(), "loads");
  std::error_code error;
  std::filesystem::resize_file(file.path(), 0, error);
  t.expect(!error && !bytes.changed(), "cut to nothing");
  t.expect(std::string(bytes.data(), bytes.data() + bytes.size()) == expected, "the bytes are there");
});

const unit::Unit resident_unit("file bytes: prefaulted pages are resident", [](unit::Test& t) {
  const File file(some_bytes(size_t{3} << 20));
  FileBytes bytes = FileBytes::map(file.path()).take();
  t.expect(bytes.load(Loading::kPrefault, file.path()).ok(), "loads");
  std::vector<unsigned char> pages((bytes.size() + 4095) / 4096);
  t.expect(mincore(const_cast<uint8_t*>(bytes.data()), bytes.size(), pages.data()) == 0, "mincore");
  size_t absent = 0;
  const size_t n = bytes.size() / static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (size_t i = 0; i < n; ++i) absent += (pages[i] & 1) == 0;
  t.expect(absent == 0, format("%zu of %zu pages are not", absent, n));
});

const unit::Unit room_unit("file bytes: a copy that the machine has no room for says so", [](unit::Test& t) {
  const File file("x");
  std::error_code error;
  std::filesystem::resize_file(file.path(), uintmax_t{1} << 42, error);  // a hole: no disk is used
  if (error) return t.note("no file system for a file of 4 TiB: " + error.message());
  auto mapped = FileBytes::map(file.path());
  if (!mapped.ok()) return t.note("no room for the mapping itself: " + mapped.status().message());
  FileBytes bytes = mapped.take();
  const Status status = bytes.load(Loading::kHugePages, file.path());
  t.expect(status.code() == Code::ERR_NO_MEMORY, status.message());
  t.expect(
      status.message().find("expected 4398046511104 bytes of memory available, found") != std::string::npos,
      status.message());
  t.expect(bytes.data()[0] == 'x', "the mapping stays");
});

const unit::Unit available_unit("file bytes: what is available is read from meminfo", [](unit::Test& t) {
  const File file(
      "MemTotal:       16253672 kB\nHugePages_Total:       0\nMemAvailable:    1234 kB\nActive(anon): 7 "
      "kB\n");
  t.expect(available_memory_bytes(file.path()) == 1234u * 1024, "in bytes");
  t.expect(available_memory_bytes("/nowhere/at-all") == UINT64_MAX, "unknown is not too little");
  t.expect(available_memory_bytes() > 1u << 20, "this machine has some");
});

const unit::Unit missing_unit("file bytes: what is not there, and what is no file", [](unit::Test& t) {
  t.expect(FileBytes::map("/nowhere/at-all").status().code() == Code::ERR_FILE_NOT_FOUND, "missing");
  t.expect(FileBytes::map("/").status().code() == Code::ERR_FILE_IO, "a folder");
});

}  // namespace
