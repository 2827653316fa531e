// Graphs of a GPU made of software: recordings of streams.
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "pipeline/device_graphs.h"
#include "tests/pipeline/soft_gpu/soft_gpu.h"
#include "tests/pipeline/soft_gpu/streams.h"

namespace millrace::soft_gpu {
namespace {

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
    try {
      // Time for others to put something where it does not belong.
      std::this_thread::sleep_for(std::chrono::microseconds(500));
      work();
    } catch (...) {
      static_cast<void>(Streams::Get().EndRecording(stream));
      throw;
    }
    return std::make_unique<Graph>(device_, Streams::Get().EndRecording(stream));
  }

 private:
  const at::Device device_;
};

[[maybe_unused]] const bool registered = [] {
  pipeline::SetGraphPools(
      [](at::Device device) -> pipeline::GraphPool* { return new Pool(device); });
  return true;
}();

}  // namespace
}  // namespace millrace::soft_gpu
