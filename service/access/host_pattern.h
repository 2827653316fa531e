// Matches hosts against the patterns of `client_sources.hosts`.
//
//   *                 every host
//   10.0.0.*          IPv4 addresses, number by number
//   10.0.0.0/24       a net of addresses; fd00::/8 as well
//   ::1               one address, however it is written
//   *.example.org     names, part by part: gate.example.org, but neither example.org nor
//                     a.gate.example.org, which is *.*.example.org
//
// A pattern of addresses never matches a name, because the owner of a domain can create the name
// 10.0.0.evil.example.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace millrace::service {

/// INVALID_ARGUMENT if `pattern` is not valid. The message says which patterns are.
[[nodiscard]] absl::Status CheckHostPattern(std::string_view pattern);

/// Whether `pattern` matches `host`: a name or an address as in a URI, without brackets. Case does
/// not matter. An invalid pattern matches no host.
[[nodiscard]] bool HostMatches(std::string_view host, std::string_view pattern);

}  // namespace millrace::service
