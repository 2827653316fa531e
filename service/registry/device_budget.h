// What all streams may take of the devices together, and whether one more fits.
//
// A stream takes of a device what its stages' operations cost there when it has nothing else to do,
// as they were measured when the learner was made, at its frame rate. So an answer does not depend
// on how busy the machine is. What sources decode is not counted.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "pipeline/learner/learner_description.h"
#include "service/config/config.h"

namespace millrace::service {

/// Cores of the CPU, as "cpu", and shares of a GPU's time, as "cuda:0".
using DeviceLoad = std::map<std::string, double>;

/// A stream and what it takes.
struct StreamLoad {
  std::string stream;
  /// What `devices` is reckoned for; 0: its frames wait, so it takes what is left.
  double frames_per_second = 0;
  DeviceLoad devices = {};
};

/// The frames that a source brings in a second: what the camera says, `camera_frames_per_second`,
/// where it is known; else what is configured; else kUsualFrameRate; max_fps at most. 0: its frames
/// wait for the learner.
[[nodiscard]] double FrameRateOf(const StreamConfig& config, double camera_frames_per_second);
inline constexpr double kUsualFrameRate = 25;

/// What a learner as described takes at that rate.
[[nodiscard]] StreamLoad LoadOf(const StreamConfig& config,
                                const pipeline::LearnerDescription& learner,
                                double camera_frames_per_second);

/// RESOURCE_EXHAUSTED (DEVICE_BUDGET_EXCEEDED), with the figures, if `stream` takes of a device
/// more than `others` leave. A stream alone on its devices always fits: it harms no other.
[[nodiscard]] absl::Status Fits(const StreamLoad& stream, const std::vector<StreamLoad>& others,
                                const Budget& budget);

}  // namespace millrace::service
