// What a token may look like, and how a client's file says one.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace millrace::service {

/// Longer tokens fit into no header of HTTP/2 that servers and proxies take as a rule.
inline constexpr std::size_t kLongestToken = 4096;

/// Whether a token may hold `c`: what may follow "Bearer" (RFC 6750).
[[nodiscard]] bool IsTokenCharacter(unsigned char c);

/// The token in `text`, which the file `path` holds: one line with nothing else, but for white
/// space around it. `option` names the file in messages, which never repeat what the file holds.
/// INVALID_ARGUMENT, with what to do, for any other text; a server's list of tokens is called that.
[[nodiscard]] absl::StatusOr<std::string> TokenAlone(std::string_view text, std::string_view option,
                                                     std::string_view path);

}  // namespace millrace::service
