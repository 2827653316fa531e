// Devices that are threads: each reads the counters, sleeps if it must, and runs its work.
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "pipeline/engine/devices.h"
#include "pipeline/engine/event_count.h"
#include "pipeline/engine/shared_progress.h"
#include "pipeline/engine/work_progress.h"
#include "pipeline/engine/work_queue.h"
#include "pipeline/plan/stage_walk.h"

namespace millrace::pipeline {
namespace {

class WorkerThreads final : public Devices {
 public:
  explicit WorkerThreads(Options options) : options_(std::move(options)), progress_(options_.plan) {
    for (const auto& order : options_.plan.devices) {
      queues_.emplace_back(PlacesFor(options_.plan, order));
    }
    try {
      for (std::size_t device = 0; device < queues_.size(); ++device) {
        workers_.emplace_back([this, device] { DoWork(device); });
      }
    } catch (...) {
      Stop();  // Otherwise the destructor would wait forever for the started threads.
      throw;
    }
  }
  ~WorkerThreads() override {
    Stop();
    workers_.clear();  // Joins.
  }

  void Enqueue(std::size_t device, const Work& work) override {
    WorkQueue& queue = queues_[device];
    // Work to run depends only on enqueued work, so the queue drains meanwhile.
    changed_.Await([&] { return stopped_ || !queue.full(); });
    if (stopped_) return;
    queue.Push(work);
    changed_.Notify();
  }

  void Admit(const Step& step) override {
    progress_.Complete(step);
    changed_.Notify();
  }

  void EndAdmission() override {
    progress_.SkipRest({.kind = OperationKind::kForward, .stage = 0});
    changed_.Notify();
  }

  bool Await(std::span<const Dependency> dependencies, std::int64_t pattern) override {
    changed_.Await([&] { return stopped_ || progress_.Meets(dependencies, pattern); });
    return !stopped_;
  }

  void Join() override { workers_.clear(); }

  [[nodiscard]] std::int64_t done(OperationKind kind, int stage) const override {
    return progress_.done(kind, stage);
  }

 private:
  // Room for all work to skip at the end of the stream, which may depend on work that is not
  // enqueued yet. Also more than the work in flight before.
  static std::size_t PlacesFor(const Plan& plan, const std::vector<Operation>& order) {
    return order.size() * static_cast<std::size_t>(MaxShift(plan) + 3) + 256;
  }

  void Stop() {
    stopped_ = true;
    changed_.Notify();
  }

  void DoWork(std::size_t device) {
    if (!options_.start(device)) return Stop();
    for (;;) {
      const std::optional<Work> next = NextReady(queues_[device]);
      if (!next) return;
      const Work& work = *next;
      const bool runs = work.what == Work::What::kRun;
      const bool ends = work.what == Work::What::kEnd;
      const bool done = ends || ((!options_.before || options_.before(device, work)) &&
                                 (!runs || options_.run(device, work)) &&
                                 (!options_.after || options_.after(device, work)));
      if (!done) return Stop();
      CompleteWork(work, options_.plan.devices[device], progress_);
      changed_.Notify();
      if (ends) return;
    }
  }

  // Waits for the next work of the queue, and for its dependencies. nullopt: stopped.
  std::optional<Work> NextReady(WorkQueue& queue) {
    changed_.Await([&] { return stopped_ || !queue.empty(); });
    if (stopped_) return std::nullopt;
    const Work work = queue.Take();
    changed_.Await([&] { return stopped_ || Ready(work); });
    if (stopped_) return std::nullopt;
    return work;
  }

  [[nodiscard]] bool Ready(const Work& work) const {
    return progress_.Meets(work.dependencies, work.pattern);
  }

  // Constant after construction.
  const Options options_;

  // Self-synchronized.
  SharedProgress progress_;
  EventCount changed_;
  std::atomic<bool> stopped_ = false;
  std::deque<WorkQueue> queues_;

  std::vector<std::jthread> workers_;
};

}  // namespace

std::unique_ptr<Devices> MakeWorkerThreads(Devices::Options options) {
  return std::make_unique<WorkerThreads>(std::move(options));
}

}  // namespace millrace::pipeline
