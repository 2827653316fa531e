// Limits the load of all streams on each device, and decides whether one more stream fits.
//
// A stream's load on a device is its frame rate times the cost of its stages' operations there. The
// cost is measured once, on an idle device, when the learner is made. So the decision does not
// depend on how busy the machine is. The cost of decoding is not counted.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "pipeline/learner/learner_description.h"
#include "service/config/config.h"

namespace millrace::service {

/// The load by device: cores of the CPU ("cpu"), and shares of a GPU's time ("cuda:0").
using DeviceLoad = std::map<std::string, double>;

/// The load of one stream.
struct StreamLoad {
  std::string stream;
  /// The frame rate that `devices` is computed for. 0: the source waits for the learner. Such a
  /// stream uses only the remaining capacity, and counts as no load.
  double frames_per_second = 0;
  DeviceLoad devices = {};
};

/// The frames per second of a source: `camera_frames_per_second` if known (not 0), else the
/// configured rate, else kUsualFrameRate. It is at most max_fps. 0: the source waits for the
/// learner.
[[nodiscard]] double FrameRateOf(const StreamConfig& config, double camera_frames_per_second);
inline constexpr double kUsualFrameRate = 25;

/// The load of a learner with the description `learner` at that rate.
[[nodiscard]] StreamLoad LoadOf(const StreamConfig& config,
                                const pipeline::LearnerDescription& learner,
                                double camera_frames_per_second);

/// RESOURCE_EXHAUSTED (DEVICE_BUDGET_EXCEEDED), with the figures, if a device lacks capacity for
/// `stream` beside `others`. A stream alone on its devices always fits, because it harms no other
/// stream.
[[nodiscard]] absl::Status Fits(const StreamLoad& stream, const std::vector<StreamLoad>& others,
                                const Budget& budget);

}  // namespace millrace::service
