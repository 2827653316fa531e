// Checks which addresses, files and secrets of this machine a client's stream may use.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "service/config/config.h"

namespace millrace::service {

/// Whether `rules` allow a client to have `stream`. PERMISSION_DENIED names the forbidden value and
/// the key that would allow it.
///
/// `current` is the entry that the stream replaces; "{}": none. Files that `current` names stay
/// allowed. Its password stays allowed only with the same scheme, host and port, and with no weaker
/// TLS. Otherwise a client could have the password sent to its own machine.
[[nodiscard]] absl::Status AllowedForClients(const StreamConfig& stream, const ClientSources& rules,
                                             const std::string& current);

}  // namespace millrace::service
