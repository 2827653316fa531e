// Whether a camera stream keeps up with its camera, and with what its plan promised.
#pragma once

#include <array>
#include <string_view>

namespace millrace::service {

/// What a stream gives up because its camera sends more than the model has time for. The worst
/// comes last.
enum class OverloadKind {
  kNone,          ///< Every frame is predicted and, unless something else forbids it, learned from.
  kLearnsLess,    ///< Every frame is predicted; one in update_every is learned from.
  kOnlyPredicts,  ///< Every frame is predicted; no frame is learned from.
  kDrops,         ///< Frames are dropped.
};
inline constexpr std::array kOverloadKinds = {OverloadKind::kNone, OverloadKind::kLearnsLess,
                                              OverloadKind::kOnlyPredicts, OverloadKind::kDrops};

/// "none", "learns_less", "only_predicts", "drops".
[[nodiscard]] std::string_view Name(OverloadKind kind);

/// Values of the configuration's keys each of which alone ends an overload, as far as the measured
/// costs tell. 0: no value of that key does.
struct Remedies {
  /// source.max_fps, in frames a second.
  double max_fps = 0;
  /// model.input, in pixels.
  int width = 0;
  int height = 0;
  /// schedule.stages, with schedule.kind auto.
  int stages = 0;
};

/// How a stream stands. An overload has lasted for ten seconds before it is said, and so has its
/// absence before that is said. Rates are in frames a second, over the last ten seconds.
struct Overload {
  OverloadKind kind = OverloadKind::kNone;
  double received_per_second = 0;
  double predicted_per_second = 0;
  double dropped_per_second = 0;
  int update_every = 1;
  Remedies remedies = {};
};

/// What the plan promises for this camera, by the costs that were measured.
struct Promise {
  /// Predictions a second: at most as many as frames come.
  double frames_per_second = 0;
  double delay_s = 0;
  /// False: for ten seconds there were fewer predictions, or later ones, than that.
  bool rate_kept = true;
  bool delay_kept = true;
};

}  // namespace millrace::service
