// Why a file of PyTorch's could not be read, for people.
//
// LibTorch says it to who works on LibTorch: with its own files, lines and conditions, and with
// guesses at what may have happened.
#pragma once

#include <string>
#include <string_view>

namespace millrace::pipeline {

/// Of what LibTorch threw: the cause in words of ours where it is known, else LibTorch's first
/// sentence that is not about its own code.
[[nodiscard]] std::string ArchiveError(std::string_view thrown);

}  // namespace millrace::pipeline
