#include "models/symboliclight/state.h"

#include "unit.h"

namespace {

using namespace spiked;
using symboliclight::Config;
using symboliclight::State;

const unit::Unit size_unit("state: its size is known before there is one", [](unit::Test& t) {
  for (bool sparse : {true, false})
    for (uint32_t window : {1u, 16u, 1023u})
      for (uint32_t head_dim : {12u, 64u}) {
        Config c{};
        c.n_layers = 3;
        c.n_heads = 2;
        c.head_dim = head_dim;
        c.embed_dim = c.n_heads * head_dim;
        c.window = window;
        c.n_anchors = 4;
        c.sparse_attn = sparse;
        const State state(c);
        t.expect(State::size_bytes(c) == state.size_bytes(),
                 format("%zu instead of %zu", State::size_bytes(c), state.size_bytes()));
      }
});

}  // namespace
