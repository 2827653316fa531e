// What `millrace watch` prints, elsewhere than on a terminal, of what a stream does beside its
// predictions.
#pragma once

#include <optional>
#include <string>

#include "millrace/v1/prediction_service.pb.h"

namespace millrace::service {

/// Puts the statuses of one stream in words, where they are news to somebody who reads its
/// predictions. One thread at a time.
class StatusLines {
 public:
  /// "yard  source backing off, last prediction 14 s ago: rtsp://yard/1: no frame within 2 s", or,
  /// once, "yard  drops 20.0 of 25.0 frames a second: ..." of an overload, and that it is over;
  /// likewise "yard  learning is given up: ...", and "yard  learns again". Nothing where
  /// predictions come as planned, or the subscription is about to end.
  [[nodiscard]] std::optional<std::string> Next(const v1::StreamStatus& status);

 private:
  /// Learning from fewer frames is as planned: it is news only after more was given up.
  [[nodiscard]] bool IsNews(v1::OverloadKind overload) const;
  /// Whether learning was given up, or goes on after that, since it was asked last.
  [[nodiscard]] bool GaveUpOrGoesOn(v1::LearnerState learner);

  bool gave_up_ = false;                                // As it was said last.
  v1::OverloadKind overload_ = v1::OVERLOAD_KIND_NONE;  // As it was said last.
};

}  // namespace millrace::service
