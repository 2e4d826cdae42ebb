#pragma once
#include <memory>
#include <vector>

#include "session/session.h"

/// The opaque handles: each holds a reference, so they may be closed in any order.
struct spiked_engine {
  std::shared_ptr<spiked::Engine> engine;
};
struct spiked_model {
  std::shared_ptr<const spiked::Model> model;
};
struct spiked_session {
  spiked_session(spiked::Reservation held, std::shared_ptr<const spiked::Model> model)
      : reserved(std::move(held)), session(std::move(model)) {}
  spiked_session(spiked::Reservation held, const spiked::Session& from)
      : reserved(std::move(held)), session(from) {}
  spiked::Reservation reserved;
  spiked::Session session;
  std::vector<spiked::JointStep>
      joint;  // room for the steps that it leads, so that a token allocates nothing
};
