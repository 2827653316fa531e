#include "service/frames/frame_counts.h"

namespace millrace::service {

std::string_view Name(DropReason reason) {
  switch (reason) {
    case DropReason::kQueueFull:
      return "queue_full";
    case DropReason::kNoPredecessor:
      return "no_predecessor";
    case DropReason::kGap:
      return "gap";
    case DropReason::kRejected:
      return "rejected";
    case DropReason::kShutdown:
      return "shutdown";
    case DropReason::kPaused:
      return "paused";
    case DropReason::kRanksLost:
      return "ranks_lost";
  }
  return "unknown";
}

}  // namespace millrace::service
