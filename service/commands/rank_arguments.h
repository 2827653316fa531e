// What users type about ranks: the leader's address, and the secret that all ranks share.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace millrace::service {

/// PyTorch's usual port for a rendezvous.
inline constexpr int kUsualRankPort = 29500;

struct HostAndPort {
  std::string host;
  int port = kUsualRankPort;
};

/// "10.0.0.1:29500", "[fd00::1]:29500", "gpu1.local:0", or without a port. Fails with
/// INVALID_ARGUMENT naming `option`.
[[nodiscard]] absl::StatusOr<HostAndPort> ParseHostAndPort(std::string_view text,
                                                           std::string_view option);

/// Whether an address has a host: ":29500" has not, and "::1" has.
[[nodiscard]] bool NamesHost(std::string_view address);

/// "10.0.0.1:29500", "[fd00::1]:29500".
[[nodiscard]] std::string ToString(const HostAndPort& address);

/// The secret in the file that `option` names, without white space at both ends. Fails as
/// ReadPrivateFile(), and with INVALID_ARGUMENT if the file is empty.
[[nodiscard]] absl::StatusOr<std::string> ReadRankSecret(const std::string& path,
                                                         std::string_view option);

}  // namespace millrace::service
