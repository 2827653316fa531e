// Status lines of `millrace watch` beside the predictions, if the output is no terminal.
#pragma once

#include <optional>
#include <string>

#include "millrace/v1/prediction_service.pb.h"

namespace millrace::service {

/// Turns one stream's statuses into text if they are news for a reader of its predictions. One
/// thread at a time.
class StatusLines {
 public:
  /// A line, or nullopt if predictions come as planned or the subscription is about to end. A
  /// stream without predictions: "yard  source backing off, last prediction 14 s ago:
  /// rtsp://yard/1: no frame within 2 s". An overload, once, and its end: "yard  drops 20.0 of 25.0
  /// frames a second: ...". Likewise "yard  learning is given up: ..." and "yard  learns again".
  [[nodiscard]] std::optional<std::string> Next(const v1::StreamStatus& status);

 private:
  /// Learning from fewer frames is planned: it is news only after a worse overload.
  [[nodiscard]] bool IsNews(v1::OverloadKind overload) const;
  /// Whether the learner has given up, or has resumed after that, since the last call.
  [[nodiscard]] bool GaveUpOrGoesOn(v1::LearnerState learner);

  bool gave_up_ = false;                                // As of the last line.
  v1::OverloadKind overload_ = v1::OVERLOAD_KIND_NONE;  // As of the last line.
};

}  // namespace millrace::service
