// A token allocates nothing: neither through operator new, which is counted here for the whole program, nor through malloc.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

#include "check.h"

// AddressSanitizer's own operators tell more than a count; there nothing is counted.
#if defined(__SANITIZE_ADDRESS__)
#define SPIKED_COUNTS_NEWS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SPIKED_COUNTS_NEWS 0
#endif
#endif
#ifndef SPIKED_COUNTS_NEWS
#define SPIKED_COUNTS_NEWS 1
#endif

namespace {

std::atomic<uint64_t> n_news{0};

}  // namespace

#if SPIKED_COUNTS_NEWS
namespace {

void* counted(size_t size, size_t alignment) {
  n_news.fetch_add(1, std::memory_order_relaxed);
  const size_t n = size == 0 ? 1 : size;
  void* p = alignment <= alignof(std::max_align_t)
                ? std::malloc(n)
                : std::aligned_alloc(alignment, (n + alignment - 1) / alignment * alignment);
  if (p == nullptr) std::abort();
  return p;
}

}  // namespace

void* operator new(size_t size) { return counted(size, 1); }
void* operator new(size_t size, std::align_val_t a) { return counted(size, static_cast<size_t>(a)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
#endif

namespace {

/// Bytes that malloc has given out; constant under a sanitizer, which has its own.
size_t bytes_in_use() { return mallinfo2().uordblks; }

void one_by_one(Checks& checks, const Opened& on, const spiked_sampling& sampling, const spiked_head* head,
                int n) {
  spiked_error error{};
  int32_t id = 1;
  for (int i = 0; i < n; ++i) {
    const spiked_status fed =
        spiked_session_forward(on.session.get(), &id, 1, SPIKED_LOGITS_NONE, nullptr, nullptr, &error);
    if (fed != SPIKED_OK) return checks.status(fed, SPIKED_OK, "forward of a token", error);
    const spiked_status drawn =
        spiked_session_next(on.session.get(), &sampling, head, &id, nullptr, nullptr, nullptr, &error);
    if (drawn != SPIKED_OK) return checks.status(drawn, SPIKED_OK, "next of a token", error);
  }
}

// The same with drafts.
void drafted(Checks& checks, const Opened& on, const spiked_sampling& sampling, const spiked_head* head,
             int n) {
  spiked_error error{};
  spiked_drawn drawn[SPIKED_MAX_DRAFT + 1];
  int32_t fed = 1;
  for (int i = 0; i < n;) {
    spiked_joint_step step{};
    step.session = on.session.get();
    step.fed = fed;
    step.sampling = &sampling;
    step.head = head;
    step.max_draft = static_cast<uint32_t>(std::min(n - i - 1, int{SPIKED_MAX_DRAFT}));
    step.drawn = drawn;
    const spiked_status stepped = spiked_sessions_step(&step, 1, &error);
    if (stepped != SPIKED_OK) return checks.status(stepped, SPIKED_OK, "a step with a draft", error);
    if (step.error.code != SPIKED_OK)
      return checks.status(step.error.code, SPIKED_OK, "a step with a draft", step.error);
    fed = drawn[step.n_drawn - 1].id;
    i += static_cast<int>(step.n_drawn);
  }
}

using Steps = void(Checks&, const Opened&, const spiked_sampling&, const spiked_head*, int);

void nothing_allocated(Checks& checks, const char* path, const spiked_engine_options& options, Steps* steps,
                       const spiked_sampling& sampling, const spiked_head* head, const char* name) {
  const Opened on = open_with(checks, path, options);
  spiked_error error{};
  if (!on.ok()) return;
  // F32 weights have no quantised products, F16 ones only topk's.
  if (head != nullptr && spiked_model_check_head(on.model.get(), head, &error) != SPIKED_OK) return;
  steps(checks, on, sampling, head, 2);  // a head is made when it is first asked for
  const uint64_t news = n_news;
  const size_t bytes = bytes_in_use();
  // Within the context: what is kept of the ids has room for no more.
  const int n = std::min(40, static_cast<int>(on.info.max_context) - 2);
  checks.that(n > 8, "a context long enough to see");
  steps(checks, on, sampling, head, n);
  const uint64_t n_made = n_news - news;
  const size_t n_left = bytes_in_use() - bytes;
  const auto found = [&](size_t amount, const char* of) {
    return std::string(name) + ", " + std::to_string(options.n_threads) + " threads" +
           (options.memory == SPIKED_MEMORY_LOW ? ", low memory: " : ": ") + std::to_string(amount) + of +
           " in " + std::to_string(n) + " tokens";
  };
  checks.that(n_made == 0, "a token allocates nothing", found(n_made, " allocations"));
  checks.that(n_left == 0, "a token leaves no memory behind", found(n_left, " bytes"));
}

}  // namespace

void check_allocations(Checks& checks, const char* path) {
  const uint64_t before = n_news;
  int* volatile one = new int(1);  // volatile, or the compiler leaves both out
  delete one;
  checks.that(n_news > before || !SPIKED_COUNTS_NEWS, "what is allocated is counted");
  const spiked_sampling greedy{0, 0, 1, 1, 0, 0, nullptr, 0}, drawn{0.8f, 50, 0.9f, 1.1f, 0, 0, nullptr, 0};
  const spiked_head gate{SPIKED_HEAD_GATE, SPIKED_ACTIVATIONS_I8, SPIKED_SCOPE_HEAD, 4, 1e30f, 0};
  const spiked_head certified{SPIKED_HEAD_CERTIFIED, SPIKED_ACTIVATIONS_I8, SPIKED_SCOPE_HEAD, 1, 0, 0};
  const spiked_head scan{SPIKED_HEAD_SCAN, SPIKED_ACTIVATIONS_F32, SPIKED_SCOPE_HEAD, 1, 0, 0};
  const spiked_head topk{SPIKED_HEAD_TOPK, 0, 0, 4, 0, 0};
  const std::pair<const char*, const spiked_head*> heads[] = {
      {"full", nullptr}, {"gate", &gate}, {"certified", &certified}, {"scan", &scan}, {"topk", &topk}};
  for (const uint32_t n_threads : {1u, 2u})
    for (const spiked_engine_options& options : engines(checks, path, n_threads)) {
      for (const auto& [name, head] : heads)
        for (const spiked_sampling& sampling : {greedy, drawn})
          nothing_allocated(checks, path, options, one_by_one, sampling, head, name);
      nothing_allocated(checks, path, options, drafted, greedy, nullptr, "full, drafts");
      nothing_allocated(checks, path, options, drafted, greedy, &certified, "certified, drafts");
      nothing_allocated(checks, path, options, drafted, greedy, &topk, "topk, drafts");
    }
}
