// The syntax of a token, and of a client's file that holds one.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace millrace::service {

/// Most servers and proxies refuse HTTP/2 headers that are longer than this.
inline constexpr std::size_t kMaxTokenBytes = 4096;

/// Whether `c` is allowed in a token: the characters that may follow "Bearer" (RFC 6750).
[[nodiscard]] bool IsTokenCharacter(unsigned char c);

/// The token in `text`, the contents of the file `path`: one line, with white space around it
/// allowed. `option` names the file in messages, which never repeat the contents. INVALID_ARGUMENT,
/// with what to do, for any other text. The message says so if the text is a server's list of
/// tokens.
[[nodiscard]] absl::StatusOr<std::string> TokenAlone(std::string_view text, std::string_view option,
                                                     std::string_view path);

}  // namespace millrace::service
