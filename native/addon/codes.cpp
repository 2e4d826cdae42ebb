#include "codes.h"

namespace spiked::addon {

bool CodeBuffers::allocate(const spiked_model_info& shape, size_t n) {
  constexpr size_t kInputs = 4;  // quantised rows a layer
  const size_t rows = shape.n_layers * n;
  return attn_in.allocate(rows * shape.embed_dim) &&
         attn_out.allocate(rows * shape.n_heads * shape.head_dim) &&
         ffn_in.allocate(rows * shape.embed_dim) && ffn_down.allocate(rows * shape.ffn_dim) &&
         absmax.allocate(rows * kInputs);
}

Napi::Value CodeBuffers::take(Napi::Env env) {
  if (attn_in.data() == nullptr) return env.Null();
  Napi::Object out = Napi::Object::New(env);
  out["attnIn"] = attn_in.take(env);
  out["attnOut"] = attn_out.take(env);
  out["ffnIn"] = ffn_in.take(env);
  out["ffnDown"] = ffn_down.take(env);
  out["absmax"] = absmax.take(env);
  return out;
}

}  // namespace spiked::addon
