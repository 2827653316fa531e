// The rate at which a camera really sends, and whether it has changed for good. Causes are the
// night, the camera's settings, or an announced rate that it never kept to.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "ingest/frame/frame.h"

namespace millrace::service {

/// Not thread-safe.
class CameraRate {
 public:
  /// `planned`: frames a second that the pipeline is planned for.
  explicit CameraRate(double planned) : planned_(planned) {}

  /// Records the next frame. Returns the camera's rate, in frames a second, once it has differed
  /// from the planned rate by more than a tenth. Two windows in a row must show this difference and
  /// agree. The pipeline is then planned for that rate. A window ends after 25 frames and two
  /// seconds; a new connection or missing frames begin another one.
  [[nodiscard]] std::optional<double> OnFrame(const ingest::Frame& frame);

  /// The frames since the last window say nothing about the camera.
  void Restart() { first_number_ = -1; }

 private:
  void Begin(const ingest::Frame& frame);
  [[nodiscard]] std::optional<double> Close(double rate);

  double planned_;
  // The rate of the window before, if it differs from the planned one.
  std::optional<double> last_;

  // The current window.
  std::int64_t first_number_ = -1;
  std::int64_t epoch_ = 0;
  std::int64_t gaps_ = 0;
  std::chrono::nanoseconds first_arrival_{0};
};

}  // namespace millrace::service
