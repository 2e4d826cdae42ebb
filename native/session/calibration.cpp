#include "session/calibration.h"

#include <algorithm>

#include "head/directions.h"
#include "session/session.h"

namespace spiked {
namespace {

// More positions sharpen the directions little and cost a token's time each.
constexpr size_t kPositions = 96;
constexpr uint64_t kSeed = 1;
constexpr int32_t kBos = 1;
// A direction costs every row four bytes in each pass. The prior branch's vectors, past a GELU, lie along few directions and gain most.
constexpr size_t kMaxDirections = 8;

size_t n_directions(size_t columns, size_t columns_a_direction) {
  return std::min(columns / columns_a_direction, kMaxDirections);
}

size_t prior_dim(const Facts& facts) { return facts.embed_dim / 4; }

/// Hidden states and the prior branch's vectors, f64, row after row.
struct Sample {
  std::vector<double> c, g;
  size_t n = 0;
};

void append(std::vector<double>& to, const float* from, size_t n) {
  for (size_t i = 0; i < n; ++i) to.push_back(static_cast<double>(from[i]));
}

// Ends early when the weights give nothing that can be sampled: directions only tighten the bound.
Sample write(const std::shared_ptr<const Model>& model) {
  Session session(model);
  session.seed(kSeed);
  sampler::Settings settings;
  settings.temperature = 1.0f;
  settings.top_k = 0;
  settings.top_p = 1.0f;
  const Facts& config = model->facts();
  Sample sample;
  int32_t id = std::min(kBos, static_cast<int32_t>(config.valid_vocab_size) - 1);
  while (sample.n < kPositions) {
    if (!session.forward(&id, 1, LogitsMode::kLast, nullptr, nullptr).ok()) break;
    append(sample.c, session.hidden(), config.embed_dim);
    if (model->network->head().has_dynamic_prior()) append(sample.g, session.prior(), prior_dim(config));
    ++sample.n;
    if (!session.sample(settings, 0, &id, nullptr).ok()) break;
  }
  return sample;
}

head::TableBits bits_for(const Model& model) {
  return model.network->head().output.dtype == DType::kF16 ? model.engine->head_bits : head::TableBits::k4;
}

/// How many directions of each kind.
struct Counts {
  size_t c = 0, g = 0;
};

Counts counts_for(const Facts& facts, const HeadWeights& weights) {
  const size_t columns = facts.embed_dim + prior_dim(facts);
  return {n_directions(columns, 256), weights.has_dynamic_prior() ? n_directions(columns, 128) : 0};
}

Result<head::Directions> directions_of(const std::shared_ptr<const Model>& model, const Counts& counts) {
  auto session = Session::reserve(*model);
  if (!session.ok()) return session.status();
  const Facts& facts = model->facts();
  const Sample sample = write(model);
  head::Directions directions;
  directions.c = head::main_directions(sample.c, sample.n, facts.embed_dim, counts.c);
  if (counts.g != 0) directions.g = head::main_directions(sample.g, sample.n, prior_dim(facts), counts.g);
  return directions;
}

}  // namespace

Result<std::shared_ptr<const head::Coarse>> coarse_head(const std::shared_ptr<const Model>& model) {
  if (model->coarse) return model->coarse;
  const HeadWeights& weights = model->network->head();
  const head::TableBits bits = bits_for(*model);
  const Counts counts = bits == head::TableBits::k8 ? Counts{} : counts_for(model->facts(), weights);
  auto tables = model->ask(Memory::kCopies, head::Coarse::size_bytes(weights, bits, counts.c + counts.g),
                           "the head's tables");
  if (!tables.ok()) return tables.status();
  head::Directions directions;
  if (counts.c + counts.g != 0) {
    auto found = directions_of(model, counts);
    if (!found.ok()) return found.status();
    directions = found.take();
  }
  auto built = head::Coarse::build(*model->engine->pool, weights, bits, std::move(directions));
  if (!built.ok()) return built.status();
  model->coarse = std::make_shared<const head::Coarse>(built.take());
  model->reserved.push_back(tables.take());
  return model->coarse;
}

}  // namespace spiked
