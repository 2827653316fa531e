// What clients may have this machine connect to, and which of its files and secrets they may name.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "service/config/config.h"

namespace millrace::service {

/// Whether `rules` allow a client to have `stream`: PERMISSION_DENIED, naming what is not allowed
/// and the key that would allow it. What `current`, the entry that it takes the place of, says of
/// files is allowed; so is its password, as long as it goes to the same host and port by the same
/// scheme and with no less TLS: nobody may have it sent to himself. "{}": there is none.
[[nodiscard]] absl::Status AllowedForClients(const StreamConfig& stream, const ClientSources& rules,
                                             const std::string& current);

}  // namespace millrace::service
