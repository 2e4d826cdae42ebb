#include "head/settings.h"

#include <cmath>

namespace spiked::head {
namespace {

Status bad(const char* name, const std::string& expected_found) {
  return {Code::ERR_INVALID_ARGUMENT, std::string("head.") + name + ": " + expected_found};
}

bool in_panels(const HeadWeights& w) { return w.output.layout != Layout::kColumnMajor; }

Status needs_quantised(const HeadWeights& w, const char* mode) {
  if (w.output.dtype == DType::kI8 || w.output.dtype == DType::kI4) return {};
  const bool f16 = w.output.dtype == DType::kF16;
  return {Code::ERR_MODEL_UNSUPPORTED,
          format("head mode \"%s\" needs int8 or int4 weights for quantised activations, found %s", mode,
                 f16 ? "f16, which \"topk\" is for" : "f32")};
}

Status check_topk(const HeadWeights& w) {
  if (w.output.dtype == DType::kF16 && !w.has_prior()) return {};
  return {
      Code::ERR_MODEL_UNSUPPORTED,
      "head mode \"topk\" needs F16 output weights, as ternary models have; a spiking model has \"gate\""};
}

}  // namespace

Status Settings::check(const HeadWeights& w) const {
  if (mode == Mode::kFull) return {};
  if (!in_panels(w))
    return {Code::ERR_MODEL_UNSUPPORTED,
            "head modes other than \"full\" need output rows in panels, found column_major weights"};
  if (mode == Mode::kScan && (activations != ops::Activations::kF32 || w.output.dtype == DType::kF16))
    return needs_quantised(w, "scan");
  if (mode == Mode::kTopK) SPIKED_TRY(check_topk(w));
  if (mode == Mode::kGate) SPIKED_TRY(needs_quantised(w, "gate"));
  if (mode == Mode::kGate || mode == Mode::kTopK) {
    if (k < 1 || k > w.output.rows || k > kMaxVerifiedRows)
      return bad("k", format("expected 1 to %zu rows, found %u",
                             w.output.rows < kMaxVerifiedRows ? w.output.rows : kMaxVerifiedRows, k));
    if (mode == Mode::kGate && !(threshold >= 0.0f))
      return bad("threshold",
                 format("expected a number of at least 0, found %g", static_cast<double>(threshold)));
  }
  if (mode == Mode::kCertified && cap > w.output.rows)
    return bad("cap", format("expected at most the vocabulary's %zu rows, found %u", w.output.rows, cap));
  return {};
}

}  // namespace spiked::head
