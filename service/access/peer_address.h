// The address of a client, and the log line for a change that a client made.
#pragma once

#include <string>
#include <string_view>

namespace millrace::service {

/// The IP address in `peer`, which gRPC wrote: "10.0.0.7" for "ipv4:10.0.0.7:40312", "::1" for
/// "ipv6:%5B::1%5D:40312". Empty if `peer` has no IP address.
[[nodiscard]] std::string AddressOf(std::string_view peer);

/// Logs "stream 'gate': a client at 10.0.0.7 has deleted it". `client` is the client's address, or
/// empty if unknown.
void LogChange(const std::string& client, const std::string& stream, const std::string& did);

}  // namespace millrace::service
