// The state of a camera stream: whether it keeps up with its camera and with its plan's promise.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "service/frames/load_window.h"

namespace millrace::service {

/// The effect of a camera that sends more than the model has time for, from the least to the worst.
enum class OverloadKind {
  kNone,          ///< Every frame is predicted and, unless another rule forbids it, learned from.
  kLearnsLess,    ///< Every frame is predicted; one in update_every is learned from.
  kOnlyPredicts,  ///< Every frame is predicted; no frame is learned from.
  kDrops,         ///< Frames are dropped.
};
inline constexpr std::array kOverloadKinds = {OverloadKind::kNone, OverloadKind::kLearnsLess,
                                              OverloadKind::kOnlyPredicts, OverloadKind::kDrops};

/// "none", "learns_less", "only_predicts", "drops".
[[nodiscard]] std::string_view Name(OverloadKind kind);

/// Values of configuration keys. Each alone ends an overload, by the measured costs. 0: no value of
/// this key does.
struct Remedies {
  /// source.max_fps, in frames a second.
  double max_fps = 0;
  /// model.input, in pixels.
  int width = 0;
  int height = 0;
  /// schedule.stages, with schedule.kind auto.
  int stages = 0;
};

/// The overload of a stream. It is reported after ten seconds of overload, and its end after ten
/// seconds without. Rates are in frames per second, over the last ten seconds.
struct Overload {
  OverloadKind kind = OverloadKind::kNone;
  double received_per_second = 0;
  double predicted_per_second = 0;
  double dropped_per_second = 0;
  int update_every = 1;
  Remedies remedies = {};
  /// The link between two ranks that sets the pace; nullopt: another cause.
  std::optional<LinkLoad> limiting_link = {};
};

/// The plan's promise for this camera, by the measured costs.
struct Promise {
  /// Predictions per second: at most the rate of the frames.
  double frames_per_second = 0;
  double delay_s = 0;
  /// False: for ten seconds, predictions were fewer or later than promised.
  bool rate_kept = true;
  bool delay_kept = true;
};

}  // namespace millrace::service
