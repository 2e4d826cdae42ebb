#pragma once
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "capi/spiked.h"

/// Counts checks and prints the ones that do not hold.
struct Checks {
  int passed = 0, failed = 0;

  void that(bool holds, const char* what, const std::string& found = "") {
    ++(holds ? passed : failed);
    if (!holds) std::printf("FAIL %s%s%s\n", what, found.empty() ? "" : ": found ", found.c_str());
  }
  /// A call that should end with `expected`; the error's text is shown when it does not.
  void status(spiked_status got, spiked_status expected, const char* what, const spiked_error& error) {
    that(got == expected, what,
         "status " + std::to_string(got) + " instead of " + std::to_string(expected) + " " + error.message);
  }
};

template <auto close>
struct Closer {
  template <typename T>
  void operator()(T* handle) const {
    close(handle);
  }
};
using Engine = std::unique_ptr<spiked_engine, Closer<spiked_engine_close>>;
using Model = std::unique_ptr<spiked_model, Closer<spiked_model_close>>;
using Session = std::unique_ptr<spiked_session, Closer<spiked_session_close>>;

/// Handles of one opened model; empty ones after a failure, which is counted.
struct Opened {
  Engine engine;
  Model model;
  Session session;
  spiked_model_info info{};
  bool ok() const { return session != nullptr; }
};
Opened open_all(Checks& checks, const char* path, uint32_t n_threads, const char* isa);
Opened open_with(Checks& checks, const char* path, const spiked_engine_options& options);
bool is_ternary(const spiked_model_info& info);

/// Engines between which what a model has apart from others is spread: of a ternary one the defaults, and low memory, F16 keys and values and a
/// 4-bit table of the head; of others the defaults alone.
std::vector<spiked_engine_options> engines(Checks& checks, const char* path, uint32_t n_threads);
/// Engines for checks that take many steps: scalar and one to three threads; of a ternary model, whose scalar products take longer than all the rest
/// and are held to the others' by check_answers, both of engines() on one and two threads.
std::vector<spiked_engine_options> spread(Checks& checks, const char* path);
/// The first of `heads` that the model serves; full otherwise: F32 weights have no quantised products, F16 ones only topk's.
spiked_head served(const Opened& on, std::initializer_list<spiked_head> heads);

/// What a session carries: membrane and decay; of a ternary model, whose keys and values are not shown, what comes of them on a fork.
std::vector<float> state_of(Checks& checks, const spiked_model_info& info, const spiked_session* session);
/// Logits after three more ids, on a fork: what the keys and values come to.
std::vector<float> future_of(Checks& checks, const spiked_model_info& info, const spiked_session* session);

/// Logits of the last of `ids`, fed `step` at a time to a reset session; empty after a failure.
std::vector<float> logits_of(Checks& checks, const Opened& on, const std::vector<int32_t>& ids, size_t step);

bool same_bits(const std::vector<float>& a, const std::vector<float>& b);
std::vector<int32_t> some_ids(const spiked_model_info& info, size_t n);

void check_answers(Checks& checks, const char* path);   // the same bits for threads, splits and ISAs; seeds
void check_heads(Checks& checks, const char* path);     // every mode; what is proved is right
void check_together(Checks& checks, const char* path);  // sessions that step as one
void check_drafts(Checks& checks, const char* path);    // guessed ids change nothing
void check_allocations(Checks& checks, const char* path);  // none in a token
void check_refusals(Checks& checks, const char* path);     // wrong arguments and files
void check_lifetimes(Checks& checks, const char* path);    // every order of closing
void check_threads(Checks& checks, const char* path);      // cancelling from outside, engines side by side
void check_ternary(Checks& checks, const char* path);      // what ternary models alone can choose
int plant(const char* fault);  // breaks a rule, so that a sanitizer is seen to notice
