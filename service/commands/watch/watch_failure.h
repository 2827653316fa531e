// Why a call of `millrace watch` failed, and which of its options mends that.
//
// gRPC says in its own words why a connection did not come about, and says UNAVAILABLE of a server
// that is not there as of one that does not get on with the client's TLS.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "service/commands/watch/watch_channel.h"

namespace millrace::service {

/// In words for whoever typed the command, with what to do where that can be told. REQUIRES: `why`
/// is what a call over a channel of `security` failed with.
[[nodiscard]] std::string FailureInWords(const absl::Status& why, const WatchSecurity& security);

}  // namespace millrace::service
