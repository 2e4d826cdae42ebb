#include "model_open_job.h"

#include "model.h"

namespace spiked::addon {

void ModelOpenJob::run() {
  spiked_model* model = nullptr;
  spiked_error error{};
  if (spiked_model_open(handle_, path_.c_str(), &model, &error) != SPIKED_OK) failure_ = failure_of(error);
  model_.reset(model);
}

Napi::Value ModelOpenJob::value(Napi::Env env) {
  // The engine's object is referenced until release() and holds the thread.
  return Model::create(env, std::move(model_), thread_.lock());
}

}  // namespace spiked::addon
