#include "service/frame_ledger.h"

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

FrameCounts FrameLedger::Count(const ingest::FrameQueue& queue) const {
  // A frame is counted as received before its end can be, so what is received last exceeds all ends
  // read before. That alone makes `in_flight` no negative number. That nothing was received
  // meanwhile, so that the counts belong to one moment, is worth another look: at the pace of a
  // camera the first one succeeds.
  for (;;) {
    const std::uint64_t received = queue.received();
    FrameCounts counts = Ends(queue);
    if (queue.received() != received) continue;
    counts.received = received;
    counts.in_flight = received - counts.predicted - counts.dropped_in_all();
    return counts;
  }
}

FrameCounts FrameLedger::Ends(const ingest::FrameQueue& queue) const {
  FrameCounts counts;
  {
    MutexLock lock(mu_);
    counts.predicted = predicted_;
    counts.dropped = dropped_;
  }
  counts.dropped[Index(DropReason::kQueueFull)] = queue.dropped();
  counts.dropped[Index(DropReason::kShutdown)] += queue.shut_out();
  return counts;
}

}  // namespace millrace::service
