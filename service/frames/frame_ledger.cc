#include "service/frames/frame_ledger.h"

#include "base/check.h"

namespace millrace::service {
namespace {

constexpr std::size_t Index(DropReason reason) { return static_cast<std::size_t>(reason); }

}  // namespace

void FrameLedger::Predicted() {
  MutexLock lock(mu_);
  ++predicted_;
}

void FrameLedger::Dropped(DropReason reason, std::uint64_t frames) {
  MILLRACE_CHECK(reason != DropReason::kQueueFull);
  MutexLock lock(mu_);
  dropped_[Index(reason)] += frames;
}

FrameCounts FrameLedger::Ends(std::uint64_t pushed_out, std::uint64_t rejected_after_close) const {
  FrameCounts counts;
  {
    MutexLock lock(mu_);
    counts.predicted = predicted_;
    counts.dropped = dropped_;
  }
  counts.dropped[Index(DropReason::kQueueFull)] = pushed_out;
  counts.dropped[Index(DropReason::kShutdown)] += rejected_after_close;
  return counts;
}

}  // namespace millrace::service
