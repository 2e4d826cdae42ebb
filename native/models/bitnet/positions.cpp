#include "models/bitnet/positions.h"

#include <algorithm>
#include <cmath>

#include "base/half.h"

namespace spiked::bitnet {

Positions::Positions(std::span<Part> parts, const Config& c) {
  size_t row_of_part = 0;
  for (Part& part : parts) {
    part.activity = {};
    if (part.each != nullptr) std::fill_n(part.each, part.n, Activity{});
    part.status = {};
    const size_t position = part.sequence->position;
    if (position + part.n > c.context) {
      part.status = {Code::ERR_CONTEXT_FULL, format("expected at most %u positions, found %zu and %zu more",
                                                    c.context, position, part.n)};
    } else {
      for (size_t i = 0; i < part.n; ++i, ++n) {
        at[n] = position + i;
        row[n] = row_of_part + i;
        state[n] = static_cast<State*>(part.sequence);
        part_[n] = &part;
        id_[n] = part.ids[i];
        bad_layer_[n].store(0, std::memory_order_relaxed);
      }
    }
    row_of_part += part.n;
  }
}

void Positions::embed(const Weights& w, size_t t, size_t dim, uint16_t* read, float* h) {
  const auto id = static_cast<size_t>(id_[t]);
  const uint16_t* from = w.embedding == nullptr ? nullptr : w.embedding + id * dim;
  if (w.embedding == nullptr) {
    failed_[t] = w.embedding_rows->read(id, id + 1, read);
    from = read;
  }
  if (!failed_[t].ok()) return;
  bool finite = true;
  for (size_t i = 0; i < dim; ++i) {
    h[i] = half::to_f32(from[i]);
    finite = finite && std::isfinite(h[i]);
  }
  if (!finite)
    failed_[t] = {Code::ERR_MODEL_INVALID,
                  format("token_embd.weight: expected finite values, found another in row %zu", id)};
}

void Positions::find_keys(size_t stride, uint32_t* key_rows, size_t* n_keys, size_t n_layers) {
  for (size_t t = 0; t < n; ++t) state[t]->kv.mark(0, at[t], true);
  for (size_t t = 0; t < n; ++t) {
    n_keys[t] = state[t]->kv.visible(0, at[t], key_rows + t * stride);
    // The last position of a part sees most.
    part_[t]->activity.keys_read = n_keys[t] * n_layers;
  }
}

void Positions::not_finite(size_t t, size_t layer) {
  size_t none = 0;
  bad_layer_[t].compare_exchange_strong(none, layer + 1, std::memory_order_relaxed);
}

void Positions::finish() {
  for (size_t t = 0; t < n; ++t) {
    Status& status = part_[t]->status;
    if (!status.ok()) continue;
    if (!failed_[t].ok())
      status = failed_[t];
    else if (const size_t layer = bad_layer_[t].load(std::memory_order_relaxed); layer != 0)
      status = {
          Code::ERR_MODEL_INVALID,
          format("layer %zu, position %zu: expected finite activations, found others", layer - 1, at[t])};
  }
  for (size_t t = 0; t < n; ++t)
    if (part_[t]->status.ok() && at[t] == state[t]->position) ++state[t]->position;
}

}  // namespace spiked::bitnet
