// Explains why a call of `millrace watch` failed, and which option may fix it.
//
// gRPC describes a failed connection in its own words. It reports UNAVAILABLE both for a missing
// server and for a failed TLS handshake.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "service/commands/watch/watch_channel.h"

namespace millrace::service {

/// The failure as text for the user, with a remedy if one is known. REQUIRES: `why` is the status
/// of a call over a channel of `security`.
[[nodiscard]] std::string FailureInWords(const absl::Status& why, const WatchSecurity& security);

}  // namespace millrace::service
