// What a stream is doing, as subscribers and those who ask for its newest prediction are told.
#pragma once

#include <string>

#include "millrace/v1/prediction_service.pb.h"
#include "service/registry/served_stream.h"

namespace millrace::service {

/// Of `served` at this moment, whose newest prediction is `newest`; null: there is none.
[[nodiscard]] v1::StreamStatus StatusOf(const ServedStream& served, const Prediction* newest);

/// What is the matter with a stream: "source backing off", and why, as far as it is known, or what
/// helps. Empty: nothing is.
struct Hindrance {
  std::string what = {};
  std::string why = {};
  /// Whether it keeps predictions from coming.
  bool stops = true;
};

/// What keeps predictions from coming; else that learning is given up; else what is given up under
/// overload, unless that is as planned: learning from fewer frames is.
[[nodiscard]] Hindrance HindranceOf(const v1::StreamStatus& status);

/// "backing off" of SOURCE_STATE_BACKING_OFF; of an unknown one, its number.
[[nodiscard]] std::string WordsOf(v1::SourceState state);
/// "paused" of LEARNER_STATE_PAUSED.
[[nodiscard]] std::string WordsOf(v1::LearnerState state);

}  // namespace millrace::service
