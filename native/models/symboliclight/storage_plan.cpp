#include "models/symboliclight/storage_plan.h"

namespace spiked::symboliclight {
namespace {

constexpr WeightFormat kFormats[] = {WeightFormat::kF32, WeightFormat::kInt8, WeightFormat::kInt4Mix};
constexpr LayoutPlan kPlans[] = {LayoutPlan::kMixed, LayoutPlan::kRow, LayoutPlan::kColumn};

Status unsupported(const GgufFile& file, const char* key, const char* expected, std::string_view found) {
  return {Code::ERR_MODEL_UNSUPPORTED,
          format("%s: metadata \"symboliclight.%s\": expected %s, found \"%s\"", file.path().c_str(), key,
                 expected, std::string(found.substr(0, 32)).c_str())};
}

}  // namespace

const char* weight_format_name(WeightFormat format) {
  switch (format) {
    case WeightFormat::kInt8:
      return "int8";
    case WeightFormat::kInt4Mix:
      return "int4mix";
    case WeightFormat::kF32:
      break;
  }
  return "f32";
}

const char* layout_plan_name(LayoutPlan plan) {
  switch (plan) {
    case LayoutPlan::kRow:
      return "row";
    case LayoutPlan::kColumn:
      return "column";
    case LayoutPlan::kMixed:
      break;
  }
  return "mixed";
}

StoragePlan::Storage StoragePlan::dense() const {
  if (format == WeightFormat::kInt4Mix) return {DType::kI4, Layout::kPanel4x32I4};
  const DType dtype = format == WeightFormat::kInt8 ? DType::kI8 : DType::kF32;
  return {dtype, layout == LayoutPlan::kColumn ? Layout::kColumnMajor : Layout::kPanel4x32};
}

StoragePlan::Storage StoragePlan::binary() const {
  const DType dtype = format == WeightFormat::kF32 ? DType::kF32 : DType::kI8;
  return {dtype, layout == LayoutPlan::kRow ? Layout::kPanel4x32 : Layout::kColumnMajor};
}

Result<StoragePlan> StoragePlan::read(const GgufFile& file) {
  auto weights = get_string(file, "symboliclight.weights");
  if (!weights.ok()) return weights.status();
  StoragePlan out;
  bool known = false;
  for (WeightFormat f : kFormats)
    if (weights.value() == weight_format_name(f)) out.format = f, known = true;
  if (!known) return unsupported(file, "weights", "\"f32\", \"int8\" or \"int4mix\"", weights.value());

  const char* const key = "symboliclight.layout_plan";
  if (file.find(key) == nullptr) return out;
  auto plan = get_string(file, key);
  if (!plan.ok()) return plan.status();
  known = false;
  for (LayoutPlan p : kPlans)
    if (plan.value() == layout_plan_name(p)) out.layout = p, known = true;
  if (!known) return unsupported(file, "layout_plan", "\"mixed\", \"row\" or \"column\"", plan.value());
  if (out.layout != LayoutPlan::kMixed && out.format != WeightFormat::kF32)
    return unsupported(file, "layout_plan", "\"mixed\" for weights that are not f32", plan.value());
  return out;
}

}  // namespace spiked::symboliclight
