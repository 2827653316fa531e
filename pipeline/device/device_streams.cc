#include "pipeline/device/device_streams.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status.h"
#include "pipeline/device/device_failure.h"
#include "pipeline/device/stage_devices.h"
#include "pipeline/device/stage_stream.h"

namespace millrace::pipeline {
namespace {

// The progress of a stage's operations of one kind on its GPU. Thread-safe.
class StreamProgress {
 public:
  void Record(const c10::Stream& stream) ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    // A waiter on the old event must not wait for later work.
    if (event_.use_count() > 1) event_ = std::make_shared<c10::Event>(at::kCUDA);
    event_->record(stream);
  }
  void Block(const c10::Stream& stream) ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    event_->block(stream);
  }
  // Waits for the event, not for the stream: the stream's thread may be capturing.
  void Await() ABSL_LOCKS_EXCLUDED(mu_) {
    std::shared_ptr<const c10::Event> event;
    {
      const MutexLock lock(mu_);
      event = event_;
    }
    event->synchronize();
  }

 private:
  Mutex mu_;
  std::shared_ptr<c10::Event> event_ ABSL_GUARDED_BY(mu_) = std::make_shared<c10::Event>(at::kCUDA);
};

class DeviceStreams final : public Devices {
 public:
  DeviceStreams(Options options, const std::vector<at::Device>& of_stages)
      : options_(std::move(options)),
        places_(static_cast<std::size_t>(options_.plan.stage_count()) * kOperationKinds) {
    for (const std::vector<Operation>& order : options_.plan.devices) {
      const std::optional<c10::Stream> stream = TakeStream(order, of_stages);
      streams_.push_back(stream);
      if (!stream) continue;
      auto& camera_copy = camera_copies_[stream->device_index()];
      if (camera_copy == nullptr) camera_copy = std::make_unique<StreamProgress>();
      for (const Operation& operation : order) {
        Place& place = At(operation.kind, operation.stage);
        place.stream = stream;
        if (place.progress == nullptr) place.progress = std::make_unique<StreamProgress>();
      }
    }
    workers_ = MakeWorkerThreads(
        {.plan = options_.plan,
         .run = options_.run,
         .before =
             [this](std::size_t device, const Work& work) {
               return CatchFailure([&] { return WaitForDependencies(device, work); });
             },
         .after =
             [this](std::size_t device, const Work& work) {
               return CatchFailure([&] { return RecordProgress(device, work); });
             },
         .start =
             [this](std::size_t device) { return CatchFailure([&] { return Start(device); }); }});
  }
  // Enqueued work may still read memory that the owner is about to free.
  ~DeviceStreams() override {
    workers_.reset();
    AwaitStreams();
  }

  void Enqueue(std::size_t device, const Work& work) override { workers_->Enqueue(device, work); }
  void Admit(const Step& step) override {
    CatchFailure([this] {
      for (const auto& [gpu, camera_copy] : camera_copies_) {
        camera_copy->Record(c10::impl::VirtualGuardImpl(at::kCUDA).getStream({at::kCUDA, gpu}));
      }
      return true;
    });
    workers_->Admit(step);
  }
  void EndAdmission() override { workers_->EndAdmission(); }
  bool Await(std::span<const Dependency> dependencies, std::int64_t pattern) override {
    return workers_->Await(dependencies, pattern);
  }
  void Join() override {
    workers_->Join();
    AwaitStreams();
  }
  [[nodiscard]] std::int64_t done(OperationKind kind, int stage) const override {
    return workers_->done(kind, stage);
  }

 private:
  // The stream and progress of a stage's operations of one kind. Both are empty on the CPU.
  struct Place {
    std::optional<c10::Stream> stream = {};
    std::unique_ptr<StreamProgress> progress = nullptr;
  };

  // The operations of a device share a stream, so their stages share a GPU: CheckStreams().
  std::optional<c10::Stream> TakeStream(const std::vector<Operation>& order,
                                        const std::vector<at::Device>& of_stages) {
    if (order.empty()) return std::nullopt;
    const at::Device device = DeviceOfStage(of_stages, order.front().stage);
    if (device.is_cpu()) return std::nullopt;
    taken_.push_back(std::make_unique<StageStream>(device));
    return taken_.back()->get();
  }

  [[nodiscard]] Place& At(OperationKind kind, int stage) {
    return places_.at((stage - 1) * kOperationKinds + static_cast<int>(kind));
  }

  // A GPU reports a failure in any later call, so every call is guarded.
  template <typename Task>
  bool CatchFailure(const Task& task) const {
    try {
      return task();
    } catch (const std::exception& e) {
      if (options_.on_failure) options_.on_failure(FailureOf(e));
      return false;
    }
  }

  // The device's thread works in the device's stream until it ends.
  bool Start(std::size_t device) {
    if (const std::optional<c10::Stream>& stream = streams_[device]) {
      const c10::impl::VirtualGuardImpl gpu(stream->device_type());
      gpu.setDevice(stream->device());
      gpu.exchangeStream(*stream);
    }
    return options_.start(device);
  }

  bool WaitForDependencies(std::size_t device, const Work& work) {
    for (const Dependency& dependency : work.dependencies) {
      if (dependency.stage > 0) {
        WaitFor(At(dependency.kind, dependency.stage), streams_[device]);
      } else {
        WaitForCamera(streams_[device]);
      }
    }
    return true;
  }

  // Waits for inputs on their way to every GPU; dependent operations rely on that.
  void WaitForCamera(const std::optional<c10::Stream>& by) {
    for (const auto& [gpu, camera_copy] : camera_copies_) Wait(*camera_copy, by);
  }

  bool RecordProgress(std::size_t device, const Work& work) {
    if (const std::optional<c10::Stream>& stream = streams_[device]) {
      At(work.step.kind, work.step.stage).progress->Record(*stream);
    }
    return true;
  }

  static void WaitFor(const Place& needed, const std::optional<c10::Stream>& by) {
    if (needed.stream && needed.stream != by) Wait(*needed.progress, by);
  }

  static void Wait(StreamProgress& progress, const std::optional<c10::Stream>& by) {
    if (by) {
      progress.Block(*by);
    } else {
      progress.Await();
    }
  }

  void AwaitStreams() const {
    for (const auto& stream : streams_) {
      if (!stream) continue;
      CatchFailure([&] {
        stream->synchronize();
        return true;
      });
    }
  }

  const Options options_;
  std::vector<std::unique_ptr<const StageStream>> taken_;
  std::vector<std::optional<c10::Stream>> streams_;  // For each device of the plan.
  std::vector<Place> places_;                        // By stage and kind.
  // The progress of the admitting thread's copies, in its own stream of each GPU.
  std::map<at::DeviceIndex, std::unique_ptr<StreamProgress>> camera_copies_;
  std::unique_ptr<Devices> workers_;  // Last: its threads use the members above.
};

}  // namespace

absl::Status CheckStreams(const Plan& plan, const std::vector<at::Device>& of_stages) {
  MILLRACE_RETURN_IF_ERROR(CheckDeviceCount(of_stages.size(), plan.stage_count()));
  for (const std::vector<Operation>& order : plan.devices) {
    for (const Operation& operation : order) {
      const int first = order.front().stage;
      if (DeviceOfStage(of_stages, operation.stage) == DeviceOfStage(of_stages, first)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("schedule ", plan.schedule, " has stages ", first, " and ", operation.stage,
                       " share a device: name the same one for both"));
    }
  }
  return absl::OkStatus();
}

MakeDevices MakeDeviceStreams(std::vector<at::Device> of_stages) {
  if (std::ranges::all_of(of_stages, [](at::Device device) { return device.is_cpu(); })) {
    return MakeWorkerThreads;
  }
  return [devices = std::move(of_stages)](Devices::Options options) -> std::unique_ptr<Devices> {
    return std::make_unique<DeviceStreams>(std::move(options), devices);
  };
}

}  // namespace millrace::pipeline
