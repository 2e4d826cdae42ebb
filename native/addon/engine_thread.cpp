#include "engine_thread.h"

#include <pthread.h>

#include <future>
#include <system_error>

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
    if (running_ != nullptr) running_->cancel();
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  // By the outbox, too: a job that has announced something must not go before its letter has come.
  for (std::unique_ptr<Job>& job : queue_) outbox_->deliver(std::move(job));
  queue_.clear();
}

void EngineThread::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    std::unique_ptr<Job> job = std::move(queue_.front());
    queue_.pop_front();
    running_ = job.get();
    bool more = false;
    do {
      lock.unlock();
      job->run();
      more = job->more();
      lock.lock();
      more = more && !stopping_;
    } while (more && queue_.empty());
    running_ = nullptr;
    if (more) {
      job->yield();
      queue_.push_back(std::move(job));
    } else {
      outbox_->deliver(std::move(job));
    }
  }
}

}  // namespace spiked::addon
