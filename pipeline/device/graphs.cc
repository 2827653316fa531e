// CUDA graphs, for programs that have loaded LibTorch's part for CUDA: a library of its own, which
// nothing links (stage_devices.h loads it).
#include <exception>
#include <memory>
#include <mutex>

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include "pipeline/device/device_graphs.h"

namespace millrace::pipeline {
namespace {

// Held while a graph comes or goes: LibTorch's generator keeps a list of them, and its allocator a
// list of captures.
std::mutex& OneAtATime() {
  static std::mutex mutex;
  return mutex;
}

class CudaGraph final : public DeviceGraph {
 public:
  explicit CudaGraph(std::unique_ptr<at::cuda::CUDAGraph> graph) : graph_(std::move(graph)) {}
  ~CudaGraph() override {
    const std::lock_guard lock(OneAtATime());
    graph_.reset();
  }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  void Launch() override { graph_->replay(); }

 private:
  std::unique_ptr<at::cuda::CUDAGraph> graph_;
};

// A capture looks at what its own thread does; others go on, LibTorch's own for the way back among
// them.
class CudaGraphPool final : public GraphPool {
 public:
  std::unique_ptr<DeviceGraph> Capture(absl::FunctionRef<void()> work) override {
    const std::lock_guard lock(OneAtATime());
    auto graph = std::make_unique<at::cuda::CUDAGraph>();
    graph->capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
    try {
      work();
    } catch (...) {
      EndAfterFailure(*graph);
      throw;
    }
    graph->capture_end();
    return std::make_unique<CudaGraph>(std::move(graph));
  }

 private:
  // What failed has spoiled the capture, as a rule, and the stream says so once more; then the
  // allocator is not told that it is over, and would keep all that is freed from here on.
  void EndAfterFailure(at::cuda::CUDAGraph& graph) const {
    try {
      graph.capture_end();
      return;
    } catch (const std::exception&) {
      static_cast<void>(cudaGetLastError());
    }
    try {
      c10::cuda::CUDACachingAllocator::endAllocateToPool(c10::cuda::current_device(), pool_);
    } catch (const std::exception&) {
      return;  // It was told.
    }
  }

  const at::cuda::MempoolId_t pool_ = at::cuda::graph_pool_handle();
};

}  // namespace
}  // namespace millrace::pipeline

// Looked up by name.
extern "C" __attribute__((visibility("default"))) millrace::pipeline::GraphPool*
MillraceNewCudaGraphPool(at::Device /*device*/) {
  return new millrace::pipeline::CudaGraphPool;
}
