// Where a call comes from, and the log of what it changed.
#pragma once

#include <string>
#include <string_view>

namespace millrace::service {

/// The address of a peer as gRPC writes it: "10.0.0.7" of "ipv4:10.0.0.7:40312", "::1" of
/// "ipv6:%5B::1%5D:40312". Empty where it is none of IP.
[[nodiscard]] std::string AddressOf(std::string_view peer);

/// "stream 'gate': a client at 10.0.0.7 has deleted it". `client`: its address; empty where it has
/// none.
void LogChange(const std::string& client, const std::string& stream, const std::string& did);

}  // namespace millrace::service
