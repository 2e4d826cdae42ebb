// libFuzzer spreads its changes evenly, so nearly all of them fall into weights; half of the time ours goes for the header instead.
#include <algorithm>

#include "fuzz/mutation.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  fuzz::Random random{seed};
  if (random.below(2) == 0) return LLVMFuzzerMutate(data, size, max_size);
  fuzz::Bytes bytes(data, data + size);
  fuzz::mutate_once(bytes, random);
  const size_t n = std::min(bytes.size(), max_size);
  std::copy_n(bytes.begin(), n, data);
  return n;
}
