// Whether the server should get requests, judged by what its streams say of themselves.
#pragma once

#include <string>
#include <vector>

#include "service/stream/camera_stream.h"

namespace millrace::service {

/// Ready: it is not stopping, its ports take connections, and not every one of its models has
/// failed. No single camera decides: one that is away, failed or at its end is the camera's matter,
/// and taking the server out of service would take the other streams with it.
struct Readiness {
  bool ready = false;
  /// A line for each reason why it is not, and for each stream that does not learn now.
  std::string text;
};

/// `unreachable`: Liveness::unreachable().
[[nodiscard]] Readiness JudgeReadiness(const std::vector<StreamSnapshot>& streams, bool stopping,
                                       const std::string& unreachable = {});

}  // namespace millrace::service
