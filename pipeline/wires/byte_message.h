// A message of any length between two ranks: its length, then its bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/wires/wires.h"

namespace millrace::pipeline {

/// Sends `bytes`, and waits until they may be changed. Uses `tag` and the next one. Fails as
/// WireTransfer::Wait().
[[nodiscard]] absl::Status SendBytes(Wires& wires, int rank, int tag, std::string_view bytes);

/// Receives what SendBytes() sends. Fails as WireTransfer::Wait(), and with DATA_LOSS if the
/// message has more than `max_bytes`.
[[nodiscard]] absl::StatusOr<std::string> ReceiveBytes(Wires& wires, int rank, int tag,
                                                       std::size_t max_bytes);

}  // namespace millrace::pipeline
