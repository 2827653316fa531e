// The status of a stream, for subscribers and for clients that read the newest prediction.
#pragma once

#include <string>

#include "millrace/v1/prediction_service.pb.h"
#include "service/registry/served_stream.h"

namespace millrace::service {

/// The current status of `served`. `newest`: its newest prediction; null: no prediction.
[[nodiscard]] v1::StreamStatus StatusOf(const ServedStream& served, const Prediction* newest);

/// A problem of a stream, such as "source backing off", with its cause or remedy if known. Empty:
/// no problem.
struct Hindrance {
  std::string what = {};
  std::string why = {};
  /// Whether the problem stops the predictions.
  bool stops = true;
};

/// The most important problem: first one that stops the predictions, then a learner that gave up,
/// then an overload. Learning from fewer frames is normal under overload, and is no problem.
[[nodiscard]] Hindrance HindranceOf(const v1::StreamStatus& status);

/// "backing off" for SOURCE_STATE_BACKING_OFF; the number of an unknown state.
[[nodiscard]] std::string WordsOf(v1::SourceState state);
/// "paused" for LEARNER_STATE_PAUSED.
[[nodiscard]] std::string WordsOf(v1::LearnerState state);

}  // namespace millrace::service
