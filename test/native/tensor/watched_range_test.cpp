#include "tensor/watched_range.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "tensor/file_bytes.h"
#include "unit.h"

namespace {

using namespace spiked;

constexpr size_t kPages = 64;
constexpr int kOwnHandler = 42;

size_t page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

/// A file of ones; removed at the end.
class Ones {
 public:
  Ones() {
    close(mkstemp(name_.data()));
    std::ofstream(name_, std::ios::binary) << std::string(kPages * page(), '\1');
  }
  ~Ones() { unlink(name_.c_str()); }
  Ones(const Ones&) = delete;
  Ones& operator=(const Ones&) = delete;
  const std::string& path() const { return name_; }
  void cut(size_t size_bytes) const { std::filesystem::resize_file(name_, size_bytes); }

 private:
  std::string name_ = std::filesystem::temp_directory_path() / "spiked-watched-XXXXXX";
};

size_t sum(const FileBytes& bytes) {
  size_t n = 0;
  for (uint64_t i = 0; i < bytes.size(); ++i) n += bytes.data()[i];
  return n;
}

/// Reads beyond the end of an unwatched mapping in a process of its own, and returns how that ended.
int read_lost_page(void (*prepare)()) {
  const Ones file;
  const pid_t child = fork();
  if (child == 0) {
    if (prepare != nullptr) prepare();
    if (!catch_lost_pages().ok()) _exit(1);
    std::FILE* f = std::fopen(file.path().c_str(), "r");
    const void* p = mmap(nullptr, page(), PROT_READ, MAP_SHARED, fileno(f), 0);
    file.cut(0);
    _exit(*static_cast<const volatile char*>(p));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// The first to run: from the second on, the handler stands, and whose handler was there before is settled.
const unit::Unit chain_unit("lost pages: a fault elsewhere goes to the handler before", [](unit::Test& t) {
  const int status = read_lost_page([] { signal(SIGBUS, [](int) { _exit(kOwnHandler); }); });
  t.expect(WIFEXITED(status) && WEXITSTATUS(status) == kOwnHandler, format("status %d", status));
});

const unit::Unit default_unit("lost pages: where there is none, it ends the process", [](unit::Test& t) {
  const int status = read_lost_page([] { signal(SIGBUS, SIG_DFL); });
  t.expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, format("status %d", status));
});

const unit::Unit cut_unit("lost pages: a file that was cut reads as zeros, and says so", [](unit::Test& t) {
  const Status installed = catch_lost_pages();
  t.expect(installed.ok(), installed.message());
  for (Loading loading : {Loading::kOnDemand, Loading::kReadahead, Loading::kPrefault}) {
    const Ones file, other;
    FileBytes bytes = FileBytes::map(file.path()).take(), kept = FileBytes::map(other.path()).take();
    t.expect(bytes.load(loading, file.path()).ok(), "loads");
    t.expect(sum(bytes) == bytes.size() && !bytes.changed(), "whole");
    file.cut(3 * page());
    std::vector<std::thread> readers;
    std::vector<size_t> sums(4);
    for (size_t& s : sums) readers.emplace_back([&] { s = sum(bytes); });
    for (std::thread& reader : readers) reader.join();
    for (size_t s : sums) t.expect(s <= 3 * page(), format("%zu ones of %zu", s, 3 * page()));
    t.expect(sum(bytes) == 0 && bytes.changed(), "all of it is gone");
    t.expect(sum(kept) == kept.size() && !kept.changed(), "the other file is as it was");
  }
});

const unit::Unit written_unit("lost pages: what no signal tells is told, too", [](unit::Test& t) {
  const Ones cut, written, same;
  FileBytes a = FileBytes::map(cut.path()).take(), b = FileBytes::map(written.path()).take(),
            c = FileBytes::map(same.path()).take();
  cut.cut(kPages * page() - 1);
  std::fstream(written.path(), std::ios::in | std::ios::out) << "x";
  std::filesystem::last_write_time(written.path(),
                                   std::filesystem::last_write_time(same.path()) + std::chrono::seconds(1));
  t.expect(a.changed(), "a byte less, in the last page");
  t.expect(b.changed(), "a byte changed");
  t.expect(!c.changed(), "none");
  cut.cut(kPages * page());
  t.expect(a.changed(), "for good");
});

const unit::Unit reuse_unit("lost pages: a new mapping is not lost because an old one was",
                            [](unit::Test& t) {
                              for (int round = 0; round < 3; ++round) {
                                const Ones file;
                                FileBytes bytes = FileBytes::map(file.path()).take();
                                t.expect(!bytes.changed() && sum(bytes) == bytes.size(), "whole");
                                FileBytes moved = std::move(bytes);
                                file.cut(0);
                                t.expect(sum(moved) == 0 && moved.changed(), "lost after a move");
                              }
                            });

}  // namespace
