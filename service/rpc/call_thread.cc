#include "service/rpc/call_thread.h"

#include <sys/resource.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "base/error_reason.h"
#include "service/rpc/caught.h"
#include "service/rpc/status.h"

namespace millrace::service {

CallThread::CallThread(Options options) : options_(std::move(options)) {
  threads_.emplace_back([this] { Run(); });
}

CallThread::~CallThread() {
  const MutexLock lock(mu_);
  closing_ = true;
  changed_.notify_all();
}

absl::Status CallThread::Post(const void* owner, std::function<void()> work) {
  const MutexLock lock(mu_);
  const std::size_t there_are = waiting_.size() + working_;
  if (there_are >= options_.max_waiting + options_.max_threads) return options_.full;
  if (there_are >= threads_.size() && threads_.size() < options_.max_threads) {
    try {
      threads_.emplace_back([this] { Run(); });
    } catch (const std::system_error&) {  // The work waits for an existing thread.
    }
  }
  waiting_.push_back({.owner = owner, .work = std::move(work)});
  changed_.notify_one();
  return absl::OkStatus();
}

bool CallThread::TakeBack(const void* owner) {
  const MutexLock lock(mu_);
  return std::erase_if(waiting_, [owner](const Waiting& each) { return each.owner == owner; }) > 0;
}

// Linux has a niceness per thread, and every user may raise it.
void CallThread::Run() {
  if (options_.niceness > 0) {
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), options_.niceness);
  }
  while (const std::function<void()> work = Next()) {
    work();
    const MutexLock lock(mu_);
    --working_;
  }
}

std::function<void()> CallThread::Next() {
  const MutexLock lock(mu_);
  while (waiting_.empty() && !closing_) changed_.wait(mu_);
  if (waiting_.empty()) return nullptr;
  std::function<void()> work = std::move(waiting_.front().work);
  waiting_.pop_front();
  ++working_;
  return work;
}

grpc::ServerUnaryReactor* ThreadedCall::Begin(CallThread& thread, Work work) {
  auto* const call = new ThreadedCall(thread, std::move(work));
  if (const absl::Status posted = thread.Post(call, [call] { call->Run(); }); !posted.ok()) {
    call->Finish(ToGrpcStatus(posted));
  }
  return call;
}

ThreadedCall::ThreadedCall(CallThread& thread, Work work)
    : thread_(thread), work_(std::move(work)) {}

void ThreadedCall::OnCancel() {
  stop_.request_stop();
  if (thread_.TakeBack(this)) Finish(ToGrpcStatus(absl::CancelledError("the call was cancelled")));
}

void ThreadedCall::Run() { Finish(ToGrpcStatus(Guarded())); }

absl::Status ThreadedCall::Guarded() {
  if (stop_.stop_requested()) return absl::CancelledError("the call was cancelled");
  absl::Status done = Caught([this] { return work_(stop_.get_token()); });
  // Work stops early only for the client, whose call is cancelled, or for the server.
  return absl::IsCancelled(done) && !stop_.stop_requested() ? ServerStops() : done;
}

}  // namespace millrace::service
