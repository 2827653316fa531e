// Whether the server should receive requests, derived from the snapshots of its streams.
#pragma once

#include <string>
#include <vector>

#include "service/stream/camera_stream.h"

namespace millrace::service {

/// Ready: the server is not stopping, its ports accept connections, and at least one of its models
/// works (or it has no streams). A single camera that is away, failed or ended does not matter.
/// Taking the server out of service for it would also stop all other streams.
struct Readiness {
  bool ready = false;
  /// One line for each reason why the server is not ready, and for each stream with a failed
  /// learner or without frames.
  std::string text;
};

/// `unreachable`: Liveness::unreachable().
[[nodiscard]] Readiness JudgeReadiness(const std::vector<StreamSnapshot>& streams, bool stopping,
                                       const std::string& unreachable = {});

}  // namespace millrace::service
