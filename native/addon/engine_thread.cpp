#include "engine_thread.h"

#include <pthread.h>

#include <future>
#include <system_error>
#include <utility>

#include "capi/spiked.h"

namespace spiked::addon {

std::shared_ptr<EngineThread> EngineThread::start(std::shared_ptr<Outbox> outbox,
                                                  const std::function<void()>& begin) {
  std::shared_ptr<EngineThread> self(new EngineThread(std::move(outbox)));
  std::promise<void> begun;
  const std::future<void> begins = begun.get_future();
  try {
    self->thread_ = std::thread([raw = self.get(), &begin, begun = std::move(begun)]() mutable {
      begin();
      begun.set_value();
      raw->loop();
    });
  } catch (const std::system_error&) {
    return nullptr;
  }
  begins.wait();
  pthread_setname_np(self->thread_.native_handle(), "spiked-engine");
  return self;
}

EngineThread::~EngineThread() { stop(); }

Napi::Value EngineThread::post(Napi::Env env, std::unique_ptr<Job> job) {
  Napi::Promise promise = job->promise();
  outbox_->expect(env);
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(job));
  }
  wake_.notify_one();
  return promise;
}

void EngineThread::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const std::unique_ptr<Job>& job : running_) job->cancel();
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  // By the outbox, too: a job that has announced something must not go before its letter has come.
  for (std::unique_ptr<Job>& job : queue_) outbox_->deliver(std::move(job));
  queue_.clear();
}

EngineThread::Turn EngineThread::take_turn() {
  Turn turn;
  turn.push_back(std::move(queue_.front()));
  queue_.pop_front();
  const void* group = turn.front()->group();
  if (group == nullptr) return turn;
  for (auto at = queue_.begin(); at != queue_.end() && turn.size() < SPIKED_MAX_JOINT;) {
    if ((*at)->group() != group) {
      ++at;
      continue;
    }
    turn.push_back(std::move(*at));
    at = queue_.erase(at);
  }
  return turn;
}

void EngineThread::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    running_ = take_turn();
    bool all_more = true;
    do {
      lock.unlock();
      if (running_.size() == 1)
        running_.front()->run();
      else
        running_.front()->run_together(running_);
      for (const std::unique_ptr<Job>& job : running_) all_more = all_more && job->more();
      lock.lock();
    } while (all_more && !stopping_ && queue_.empty());
    for (std::unique_ptr<Job>& job : std::exchange(running_, {})) {
      if (job->more() && !stopping_) {
        job->yield();
        queue_.push_back(std::move(job));
      } else {
        outbox_->deliver(std::move(job));
      }
    }
  }
}

}  // namespace spiked::addon
