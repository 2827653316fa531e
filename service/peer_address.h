// Where a call over gRPC comes from.
#pragma once

#include <string>
#include <string_view>

namespace millrace::service {

/// The address of a peer as gRPC writes it: "10.0.0.7" of "ipv4:10.0.0.7:40312", "::1" of
/// "ipv6:%5B::1%5D:40312". Empty where it is none of IP.
[[nodiscard]] std::string AddressOf(std::string_view peer);

}  // namespace millrace::service
