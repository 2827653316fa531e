// Graphs of a GPU made of software: recordings of streams.
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "pipeline/device/device_graphs.h"
#include "tests/pipeline/soft_gpu/memory.h"
#include "tests/pipeline/soft_gpu/soft_gpu.h"
#include "tests/pipeline/soft_gpu/streams.h"

namespace millrace::soft_gpu {
namespace {

std::function<void()>& Hook() {
  static std::function<void()> hook;
  return hook;
}

class Graph final : public pipeline::DeviceGraph {
 public:
  explicit Graph(at::Device device, std::shared_ptr<const Recording> recording)
      : device_(device), recording_(std::move(recording)) {}
  void Launch() override { Streams::Get().Replay(CurrentStream(device_.index()), recording_); }

 private:
  const at::Device device_;
  const std::shared_ptr<const Recording> recording_;
};

class Pool final : public pipeline::GraphPool {
 public:
  explicit Pool(at::Device device) : device_(device) {}
  std::unique_ptr<pipeline::DeviceGraph> Capture(absl::FunctionRef<void()> work) override {
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    const std::int64_t stream = CurrentStream(device_.index());
    Streams::Get().BeginRecording(stream);
    TakeFrom(memory_, stream);
    try {
      if (Hook()) Hook()();
      work();
    } catch (...) {
      TakeFrom(nullptr, stream);
      static_cast<void>(Streams::Get().EndRecording(stream));
      throw;
    }
    TakeFrom(nullptr, stream);
    return std::make_unique<Graph>(device_, Streams::Get().EndRecording(stream));
  }

 private:
  const at::Device device_;
  const std::shared_ptr<PoolMemory> memory_ = std::make_shared<PoolMemory>();
};

[[maybe_unused]] const bool kRegistered = [] {
  pipeline::SetGraphPools(
      [](at::Device device) -> pipeline::GraphPool* { return new Pool(device); });
  return true;
}();

}  // namespace

void WhileRecording(std::function<void()> hook) { Hook() = std::move(hook); }

}  // namespace millrace::soft_gpu
