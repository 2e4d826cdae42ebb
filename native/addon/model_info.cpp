#include "model_info.h"

#include <string_view>

namespace spiked::addon {

bool is_ternary(const spiked_model_info& info) { return std::string_view(info.weights) == "i2_s"; }

Napi::Object model_info(Napi::Env env, const spiked_model_info& info) {
  const auto number = [env](auto value) { return Napi::Number::New(env, static_cast<double>(value)); };
  Napi::Object tokenizer = Napi::Object::New(env);
  tokenizer["offsetBytes"] = number(info.tokenizer_offset_bytes);
  tokenizer["sizeBytes"] = number(info.tokenizer_size_bytes);

  Napi::Object out = Napi::Object::New(env);
  out["architecture"] = info.architecture;
  out["form"] = info.form;
  out["weights"] = info.weights;
  out["layoutPlan"] = info.layout_plan;
  out["name"] = info.name;
  out["dataSha256"] = info.data_sha256;
  out["vocabSize"] = number(info.vocab_size);
  out["validVocabSize"] = number(info.valid_vocab_size);
  out["embedDim"] = number(info.embed_dim);
  out["nLayers"] = number(info.n_layers);
  out["nHeads"] = number(info.n_heads);
  out["nKvHeads"] = number(info.n_kv_heads);
  out["headDim"] = number(info.head_dim);
  out["ffnDim"] = number(info.ffn_dim);
  out["maxContext"] = number(info.max_context);
  out["window"] = number(info.window);
  out["nAnchors"] = number(info.n_anchors);
  out["threshold"] = number(info.threshold);
  out["leak"] = number(info.leak);
  out["sparseAttn"] = info.sparse_attn != 0;
  out["dynamicPrior"] = info.dynamic_prior != 0;
  out["fileSizeBytes"] = number(info.file_size_bytes);
  out["nParameters"] = number(info.n_parameters);
  out["denseBytes"] = number(info.dense_bytes);
  out["columnBytes"] = number(info.column_bytes);
  out["tokenizer"] = tokenizer;
  return out;
}

}  // namespace spiked::addon
