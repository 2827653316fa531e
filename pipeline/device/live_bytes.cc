#include "pipeline/device/live_bytes.h"

#include <map>
#include <memory>

#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/orchestration/observer.h>

namespace millrace::pipeline {
namespace {

using torch::profiler::impl::ActiveProfilerType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;
using torch::profiler::impl::ProfilerStateBase;

// LibTorch's allocators report memory to it, as to their profiler. It records nothing else.
class LiveBytes final : public ProfilerStateBase {
 public:
  LiveBytes()
      : ProfilerStateBase(ProfilerConfig(ProfilerState::Disabled, /*report_input_shapes=*/false,
                                         /*profile_memory=*/true)) {}

  void reportMemoryUsage(void* ptr, std::int64_t alloc_size, std::size_t /*total_allocated*/,
                         std::size_t /*total_reserved*/, c10::Device /*device*/) override {
    if (alloc_size > 0) {
      sizes_[ptr] = static_cast<double>(alloc_size);
    } else {
      sizes_.erase(ptr);
    }
  }
  ActiveProfilerType profilerType() override { return ActiveProfilerType::NONE; }

  [[nodiscard]] double sum() const {
    double sum = 0;
    for (const auto& [ptr, bytes] : sizes_) sum += bytes;
    return sum;
  }

 private:
  std::map<const void*, double> sizes_;
};

}  // namespace

double BytesLeftBy(const std::function<void()>& work) {
  const auto live = std::make_shared<LiveBytes>();
  {
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, live);
    work();
  }
  return live->sum();
}

}  // namespace millrace::pipeline
