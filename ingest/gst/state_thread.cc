#include "ingest/gst/state_thread.h"

#include <pthread.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "base/log_about.h"
#include "base/mutex.h"
#include "ingest/gst/pipeline_elements.h"
#include "spdlog/spdlog.h"

namespace millrace::ingest {
namespace {

void LogAbandoned(const std::string& name, std::int64_t hanging) {
  const LogAbout about(name);
  spdlog::error(
      "stream '{}': its pipeline hangs in GStreamer and is left behind with its threads; {} of at "
      "most {} hang. What the camera sends is faulty: update or restart the camera",
      name, hanging, kMaxHangingOfOne);
}

}  // namespace

struct StateThread::Work {
  Work(std::shared_ptr<PipelineElements> its, PipelineSlot of_pipeline)
      : elements(std::move(its)), owner(of_pipeline.owner()), slot(std::move(of_pipeline)) {}

  /// Waits for the next state. nullopt: the pipeline must end.
  std::optional<GstState> Next() ABSL_LOCKS_EXCLUDED(mu) {
    const MutexLock lock(mu);
    while (wanted.empty() && !ending) changed.wait(mu);
    if (ending) return std::nullopt;
    const GstState next = wanted.front();
    wanted.pop_front();
    return next;
  }

  /// Waits until the time `until`. Returns whether the pipeline has ended.
  bool AwaitEnd(std::chrono::steady_clock::time_point until) ABSL_LOCKS_EXCLUDED(mu) {
    const MutexLock lock(mu);
    while (slot) {
      if (changed.wait_until(mu, until) == std::cv_status::timeout) break;
    }
    return !slot;
  }

  /// Abandons the pipeline. Returns how many pipelines of this owner hang; nullopt if it has just
  /// ended.
  std::optional<std::int64_t> Abandon() ABSL_LOCKS_EXCLUDED(mu) {
    const MutexLock lock(mu);
    if (!slot) return std::nullopt;
    return slot->Abandon();
  }

  void Finish() ABSL_LOCKS_EXCLUDED(mu) {
    const MutexLock lock(mu);
    slot.reset();
    changed.notify_all();
  }

  // Constant after construction.
  const std::shared_ptr<PipelineElements> elements;
  const PipelineOwner owner;

  Mutex mu;
  CondVar changed;
  std::deque<GstState> wanted ABSL_GUARDED_BY(mu);
  bool ending ABSL_GUARDED_BY(mu) = false;
  std::optional<PipelineSlot> slot ABSL_GUARDED_BY(mu);  ///< Empty after the end.
};

StateThread::StateThread(std::shared_ptr<PipelineElements> elements, PipelineSlot slot,
                         const EndLimits& limits)
    : limits_(limits),
      work_(std::make_shared<Work>(std::move(elements), std::move(slot))),
      thread_([work = work_] { Run(work); }) {}

void StateThread::Run(const std::shared_ptr<Work>& work) {
  pthread_setname_np(pthread_self(), "pipeline");
  while (true) {
    const std::optional<GstState> next = work->Next();
    if (!next) break;
    work->elements->SetState(*next);
  }
  work->elements->End();
  work->Finish();
}

void StateThread::Want(GstState state) {
  const MutexLock lock(work_->mu);
  work_->wanted.push_back(state);
  work_->changed.notify_all();
}

void StateThread::BeginEnd() {
  if (ending_since_) return;
  work_->elements->Cancel();
  work_->elements->Silence();
  ending_since_ = std::chrono::steady_clock::now();
  const MutexLock lock(work_->mu);
  work_->ending = true;
  work_->changed.notify_all();
}

bool StateThread::End() {
  if (!thread_.joinable()) return has_ended_;
  BeginEnd();
  const auto begin = ending_since_.value_or(std::chrono::steady_clock::now());
  has_ended_ = work_->AwaitEnd(begin + limits_.in_good_order);
  if (!has_ended_) {
    work_->elements->Cut();
    has_ended_ = work_->AwaitEnd(begin + limits_.in_all);
  }
  const std::optional<std::int64_t> hanging = has_ended_ ? std::nullopt : work_->Abandon();
  has_ended_ = !hanging;
  if (!hanging) {
    thread_.join();
    return true;
  }
  thread_.detach();
  LogAbandoned(work_->owner.name, *hanging);
  return false;
}

}  // namespace millrace::ingest
