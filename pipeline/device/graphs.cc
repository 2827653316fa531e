// CUDA graphs, as a module that no target links. stage_devices.h loads it after LibTorch's part for
// CUDA.
#include <exception>
#include <memory>
#include <mutex>

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include "pipeline/device/device_graphs.h"

namespace millrace::pipeline {
namespace {

// Held while a graph is made or destroyed: LibTorch's generator has a list of graphs, and its
// allocator has a list of captures.
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

// A capture watches only its own thread. Other threads go on.
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
  // A failure usually invalidates the capture, and capture_end() reports it again. The allocator
  // must still learn that the capture is over, or it would keep all memory that is freed from now
  // on.
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
      return;  // The allocator already ended it.
    }
  }

  const at::cuda::MempoolId_t pool_ = at::cuda::graph_pool_handle();
};

}  // namespace
}  // namespace millrace::pipeline

// dlsym() finds it by name.
extern "C" __attribute__((visibility("default"))) millrace::pipeline::GraphPool*
MillraceNewCudaGraphPool(at::Device /*device*/) {
  return new millrace::pipeline::CudaGraphPool;
}
