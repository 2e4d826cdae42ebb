#pragma once
#include <memory>

#include "session/session.h"

/// The opaque handles: each holds a reference, so they may be closed in any order.
struct spiked_engine {
  std::shared_ptr<spiked::Engine> engine;
};
struct spiked_model {
  std::shared_ptr<const spiked::Model> model;
};
struct spiked_session {
  explicit spiked_session(std::shared_ptr<const spiked::Model> model) : session(std::move(model)) {}
  explicit spiked_session(const spiked::Session& from) : session(from) {}
  spiked::Session session;
};
