// States as metrics say them: numbers, so that a stream has one series for its state and not one
// for each state that there is.
#pragma once

#include <string>

#include "ingest/source/source.h"
#include "service/overload/overload.h"
#include "service/stream/learner_controls.h"

namespace millrace::service {

/// The number that millrace.v1.SourceState gives the state.
[[nodiscard]] int CodeOf(ingest::SourceState state);
/// The number that millrace.v1.LearnerState gives the state.
[[nodiscard]] int CodeOf(LearnerState state);
/// The number that millrace.v1.OverloadKind gives the kind.
[[nodiscard]] int CodeOf(OverloadKind kind);

/// "1 connecting, 2 streaming ...": every state by its number, for the help of a metric.
[[nodiscard]] std::string SourceCodes();
[[nodiscard]] std::string LearnerCodes();
[[nodiscard]] std::string OverloadCodes();

}  // namespace millrace::service
