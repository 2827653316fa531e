// Turns LibTorch's errors about a PyTorch file into messages for users.
//
// LibTorch writes these errors for its own developers: with its own files, lines and conditions,
// and with guesses at the cause.
#pragma once

#include <string>
#include <string_view>

namespace millrace::pipeline {

/// For the text of a LibTorch exception: our words for the cause if it is known. Otherwise
/// LibTorch's first sentence that is not about its own code.
[[nodiscard]] std::string ArchiveError(std::string_view thrown);

}  // namespace millrace::pipeline
