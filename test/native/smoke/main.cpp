// Drives the engine through its C API as a careless host would. Built plain and with each sanitizer.
//   spiked_engine_smoke MODEL.gguf           checks
//   spiked_engine_smoke --plant overflow|leak|undefined|race    a fault for the sanitizer to find
#include <cstring>

#include "check.h"

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--plant") == 0) return plant(argv[2]);
  if (argc != 2) {
    std::fprintf(stderr, "usage: spiked_engine_smoke MODEL.gguf | --plant overflow|leak|undefined|race\n");
    return 2;
  }
  Checks checks;
  check_answers(checks, argv[1]);
  check_heads(checks, argv[1]);
  check_together(checks, argv[1]);
  check_drafts(checks, argv[1]);
  check_allocations(checks, argv[1]);
  check_refusals(checks, argv[1]);
  check_lifetimes(checks, argv[1]);
  check_threads(checks, argv[1]);
  check_ternary(checks, argv[1]);
  std::printf("%d passed, %d failed\n", checks.passed, checks.failed);
  return checks.failed == 0 ? 0 : 1;
}
