// Measures how fast a rank's bytes reach another one.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "pipeline/wires/wires.h"

namespace millrace::pipeline {

/// The time that 10^6 more bytes in a message to `rank` take. At most some hundred milliseconds of
/// a link of 50 Mbit/s. Uses `tag` and the next one. Fails as WireTransfer::Wait(). REQUIRES:
/// `rank` calls AnswerProbe().
[[nodiscard]] absl::StatusOr<nanoseconds> ProbeLink(Wires& wires, int rank, int tag);

/// The other side: for ProbeLink() of `rank` to this one.
[[nodiscard]] absl::Status AnswerProbe(Wires& wires, int rank, int tag);

}  // namespace millrace::pipeline
