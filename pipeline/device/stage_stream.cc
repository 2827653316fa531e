#include "pipeline/device/stage_stream.h"

#include <algorithm>
#include <vector>

#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/mutex.h"

namespace millrace::pipeline {
namespace {

c10::impl::VirtualGuardImpl Cuda() { return c10::impl::VirtualGuardImpl(at::kCUDA); }

// One for the process, like LibTorch's pool. Copies use the high-priority pool.
class Registry {
 public:
  c10::Stream Take(at::Device gpu) ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    // More tries than the pool has streams, so that each stream comes up.
    constexpr int kTries = 64;
    for (int i = 0; i < kTries; ++i) {
      const c10::Stream stream = Cuda().getStreamFromGlobalPool(gpu);
      if (std::ranges::find(taken_, stream) != taken_.end()) continue;
      taken_.push_back(stream);
      return stream;
    }
    return Cuda().getDefaultStream(gpu);
  }
  void GiveBack(const c10::Stream& stream) ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    std::erase(taken_, stream);
  }

 private:
  Mutex mu_;
  std::vector<c10::Stream> taken_ ABSL_GUARDED_BY(mu_);
};

Registry& TheRegistry() {
  static auto* const registry = new Registry;  // Streams may be returned after main().
  return *registry;
}

}  // namespace

StageStream::StageStream(at::Device gpu) : stream_(TheRegistry().Take(gpu)) {}

StageStream::~StageStream() { TheRegistry().GiveBack(stream_); }

bool StreamIsShared(at::Device gpu) {
  return Cuda().getStream(gpu) == Cuda().getDefaultStream(gpu);
}

}  // namespace millrace::pipeline
