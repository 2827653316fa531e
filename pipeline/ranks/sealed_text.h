// Texts that only a process with the shared secret can have written.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// Random bytes for one use, as hexadecimal digits.
[[nodiscard]] std::string MakeNonce();

/// `text`, with its HMAC-SHA256 under `secret` in front. `context` has the other side's nonce and
/// the kind of the text, so that a copy of it, or another kind, is refused.
[[nodiscard]] std::string Seal(std::string_view secret, std::string_view context,
                               std::string_view text);

/// The text of Seal(). Fails with PERMISSION_DENIED if another secret or context has sealed it, or
/// if it was changed.
[[nodiscard]] absl::StatusOr<std::string> Unseal(std::string_view secret, std::string_view context,
                                                 std::string_view sealed);

}  // namespace millrace::pipeline
