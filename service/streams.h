// All camera streams of the server, by name.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "service/camera_stream.h"

namespace millrace::service {

/// Owns the camera streams, from the start of the server to its end. Constant after construction,
/// so it needs no lock; the streams are thread-safe.
class Streams {
 public:
  explicit Streams(std::vector<std::unique_ptr<CameraStream>> streams);

  /// Fails with NOT_FOUND naming the streams there are. An empty name means the only stream, if
  /// there is just one.
  [[nodiscard]] absl::StatusOr<CameraStream*> Find(std::string_view name) const;
  [[nodiscard]] const std::vector<std::unique_ptr<CameraStream>>& all() const { return streams_; }
  /// Stops all of them, at the same time. Idempotent.
  void Stop();

 private:
  const std::vector<std::unique_ptr<CameraStream>> streams_;
};

}  // namespace millrace::service
