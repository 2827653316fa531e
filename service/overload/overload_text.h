// Describes overload, its remedies and a broken promise in words: for the log, the page, `millrace
// watch` and the API.
#pragma once

#include <string>

#include "service/overload/overload.h"

namespace millrace::service {

/// "drops 20.9 of 25.0 frames a second", "learns from one frame in 4", "only predicts". A link that
/// is the cause is named. Empty without overload.
[[nodiscard]] std::string DescribeOverload(const Overload& overload);

/// `every frame is predicted and learned from with one of: source.max_fps: 3.2; model.input: [160,
/// 112]; schedule: {kind: auto, stages: 4}`. Empty without overload or without a remedy.
[[nodiscard]] std::string DescribeRemedies(const Overload& overload);

/// "promised 37.0 predictions a second after 9 ms, measured 4.1 after 240 ms". Empty if the promise
/// is kept.
[[nodiscard]] std::string DescribeBrokenPromise(const Promise& promise,
                                                double predictions_per_second, double delay_s);

}  // namespace millrace::service
