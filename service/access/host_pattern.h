// Which hosts a pattern of `client_sources.hosts` means.
//
//   *                 every host
//   10.0.0.*          IPv4 addresses, number by number
//   10.0.0.0/24       a net of addresses; fd00::/8 as well
//   ::1               one address, however it is written
//   *.example.org     names, part by part: gate.example.org, but neither example.org nor
//                     a.gate.example.org, which is *.*.example.org
//
// A pattern of addresses never means a name: whoever owns a name may call it 10.0.0.evil.example.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace millrace::service {

/// INVALID_ARGUMENT, saying what is allowed, if `pattern` is none.
[[nodiscard]] absl::Status CheckHostPattern(std::string_view pattern);

/// Whether `pattern` means `host`: a name or an address as a URI says it, without brackets. Case
/// does not matter. What is no pattern means nothing.
[[nodiscard]] bool HostMatches(std::string_view host, std::string_view pattern);

}  // namespace millrace::service
