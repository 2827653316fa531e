#include "ingest/state_thread.h"

#include <pthread.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/log_about.h"
#include "base/mutex.h"
#include "ingest/abandoned_pipelines.h"
#include "ingest/pipeline_elements.h"
#include "spdlog/spdlog.h"

namespace millrace::ingest {

struct StateThread::Work {
  Work(std::shared_ptr<PipelineElements> its, std::string whose)
      : elements(std::move(its)), owner(std::move(whose)) {}

  /// Waits for it. Null: it is to end.
  std::optional<GstState> Next() ABSL_LOCKS_EXCLUDED(mu) {
    const MutexLock lock(mu);
    while (wanted.empty() && !ending) changed.wait(mu);
    if (ending) return std::nullopt;
    const GstState next = wanted.front();
    wanted.pop_front();
    return next;
  }

  /// Whether it has ended by then.
  bool AwaitEnd(std::chrono::steady_clock::time_point until) ABSL_LOCKS_EXCLUDED(mu) {
    const MutexLock lock(mu);
    while (!ended) {
      if (changed.wait_until(mu, until) == std::cv_status::timeout) break;
    }
    return ended;
  }

  // Constant after construction.
  const std::shared_ptr<PipelineElements> elements;
  const std::string owner;

  Mutex mu;
  CondVar changed;
  std::deque<GstState> wanted ABSL_GUARDED_BY(mu);
  bool ending ABSL_GUARDED_BY(mu) = false;
  bool ended ABSL_GUARDED_BY(mu) = false;
  bool abandoned ABSL_GUARDED_BY(mu) = false;
};

StateThread::StateThread(std::shared_ptr<PipelineElements> elements, std::string owner,
                         const Limits& limits)
    : limits_(limits),
      work_(std::make_shared<Work>(std::move(elements), std::move(owner))),
      thread_([work = work_] { Run(work); }) {}

void StateThread::Run(const std::shared_ptr<Work>& work) {
  pthread_setname_np(pthread_self(), "pipeline");
  while (const std::optional<GstState> next = work->Next()) work->elements->SetState(*next);
  work->elements->End();
  const MutexLock lock(work->mu);
  work->ended = true;
  if (work->abandoned) EndAbandoned(work->owner);
  work->changed.notify_all();
}

void StateThread::Want(GstState state) {
  const MutexLock lock(work_->mu);
  work_->wanted.push_back(state);
  work_->changed.notify_all();
}

bool StateThread::End() {
  if (!thread_.joinable()) return has_ended_;
  work_->elements->Cancel();
  work_->elements->Silence();
  {
    const MutexLock lock(work_->mu);
    work_->ending = true;
    work_->changed.notify_all();
  }
  const auto began = std::chrono::steady_clock::now();
  has_ended_ = work_->AwaitEnd(began + limits_.in_good_order);
  if (!has_ended_) {
    work_->elements->Cut();
    has_ended_ = work_->AwaitEnd(began + limits_.in_all);
  }
  if (!has_ended_) LeaveBehind();
  if (has_ended_) {
    thread_.join();
  } else {
    thread_.detach();
  }
  return has_ended_;
}

// It may end in this very moment.
void StateThread::LeaveBehind() {
  const std::int64_t hanging = Abandon(work_->owner);
  const LogAbout about(work_->owner);
  spdlog::error(
      "stream '{}': its pipeline hangs in GStreamer and is left behind with its threads; {} of at "
      "most {} hang. What the camera sends is faulty: update or restart the camera",
      work_->owner, hanging, kMostHangingOfOne);
  const MutexLock lock(work_->mu);
  has_ended_ = work_->ended;
  work_->abandoned = !has_ended_;
  if (has_ended_) EndAbandoned(work_->owner);
}

}  // namespace millrace::ingest
