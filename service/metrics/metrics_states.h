// Numbers of states in metrics: a stream has one series for its state, not one for each possible
// state.
#pragma once

#include <string>

#include "ingest/source/source.h"
#include "service/overload/overload.h"
#include "service/stream/learner_controls.h"

namespace millrace::service {

/// The state's number in millrace.v1.SourceState.
[[nodiscard]] int CodeOf(ingest::SourceState state);
/// The state's number in millrace.v1.LearnerState.
[[nodiscard]] int CodeOf(LearnerState state);
/// The kind's number in millrace.v1.OverloadKind.
[[nodiscard]] int CodeOf(OverloadKind kind);

/// "1 connecting, 2 streaming ...": every state with its number, for a metric's help text.
[[nodiscard]] std::string SourceCodes();
[[nodiscard]] std::string LearnerCodes();
[[nodiscard]] std::string OverloadCodes();

}  // namespace millrace::service
