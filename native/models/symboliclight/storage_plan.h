#pragma once
#include "tensor/gguf.h"
#include "tensor/matrix.h"

namespace spiked::symboliclight {

/// Storage of the Linear weights (metadata symboliclight.weights).
enum class WeightFormat { kF32, kInt8, kInt4Mix };
const char* weight_format_name(WeightFormat format);

/// Layout of the Linear weights (metadata symboliclight.layout_plan): kMixed is how models run, the others are for comparing with it.
enum class LayoutPlan { kMixed, kRow, kColumn };
const char* layout_plan_name(LayoutPlan plan);

/// How a file stores the Linear weights, by what their input is.
struct StoragePlan {
  WeightFormat format = WeightFormat::kF32;
  LayoutPlan layout = LayoutPlan::kMixed;

  struct Storage {
    DType dtype;
    Layout layout;
  };
  Storage dense() const;   ///< of a weight that meets continuous inputs
  Storage binary() const;  ///< of a weight that meets spikes

  /// Errors: ERR_MODEL_INVALID; ERR_MODEL_UNSUPPORTED for an unknown name, or a plan other than mixed without f32 weights.
  static Result<StoragePlan> read(const GgufFile& file);
};

}  // namespace spiked::symboliclight
