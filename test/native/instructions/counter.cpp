// A plugin for qemu's TCG: instructions executed from each spiked_count_begin to the spiked_count_end after it, one number a line, into
// the file named by out=PATH. Counts whole translated blocks, which is exact because calls end blocks.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

// What is used of qemu-plugin.h, version 1 of the interface; no Debian package has the header.
extern "C" {
using qemu_plugin_id_t = uint64_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb* tb);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb* tb, size_t index);
const char* qemu_plugin_insn_symbol(const qemu_plugin_insn* insn);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*seen)(qemu_plugin_id_t, qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_cb(qemu_plugin_tb* tb, void (*run)(unsigned, void*),
                                          qemu_plugin_cb_flags flags, void* user);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*done)(qemu_plugin_id_t, void*), void* user);
}

namespace {

std::string out;
std::vector<uint64_t> counts;
bool counting = false;

void run_begin(unsigned, void*) {
  counting = true;
  counts.push_back(0);
}
void run_end(unsigned, void*) { counting = false; }
void run_block(unsigned, void* n_instructions) {
  if (counting) counts.back() += reinterpret_cast<uintptr_t>(n_instructions);
}

void translated(qemu_plugin_id_t, qemu_plugin_tb* tb) {
  const char* symbol = qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(tb, 0));
  void (*run)(unsigned, void*) = run_block;
  if (symbol != nullptr && std::strcmp(symbol, "spiked_count_begin") == 0) run = run_begin;
  if (symbol != nullptr && std::strcmp(symbol, "spiked_count_end") == 0) run = run_end;
  qemu_plugin_register_vcpu_tb_exec_cb(tb, run, QEMU_PLUGIN_CB_NO_REGS,
                                       reinterpret_cast<void*>(qemu_plugin_tb_n_insns(tb)));
}

void done(qemu_plugin_id_t, void*) {
  std::FILE* file = std::fopen(out.c_str(), "w");
  if (file == nullptr) return;
  for (uint64_t n : counts) std::fprintf(file, "%llu\n", static_cast<unsigned long long>(n));
  std::fclose(file);
}

}  // namespace

extern "C" {
[[gnu::visibility("default")]] extern const int qemu_plugin_version = 1;
[[gnu::visibility("default")]] int qemu_plugin_install(qemu_plugin_id_t id, const void*, int argc,
                                                       char** argv) {
  for (int i = 0; i < argc; ++i) {
    if (std::strncmp(argv[i], "out=", 4) == 0) out = argv[i] + 4;
  }
  if (out.empty()) return 1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, done, nullptr);
  return 0;
}
}
