// What `millrace watch` prints, elsewhere than on a terminal, of a stream that predicts nothing.
#pragma once

#include <string>

#include "millrace/v1/prediction_service.pb.h"

namespace millrace::service {

/// "yard  source backing off, last prediction 14 s ago: rtsp://yard/1: no frame within 2 s".
[[nodiscard]] std::string StatusLine(const v1::StreamStatus& status);

/// Whether a subscriber waits on for what keeps away: not where the subscription is about to end.
[[nodiscard]] bool KeepsWaiting(const v1::StreamStatus& status);

}  // namespace millrace::service
