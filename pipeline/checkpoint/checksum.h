// A checksum of bytes, for our own files.
#pragma once

#include <string>
#include <string_view>

namespace millrace::pipeline {

/// FNV-1a with 64 bits, in hexadecimal: detects disk errors and incomplete copies.
[[nodiscard]] std::string Checksum(std::string_view bytes);

}  // namespace millrace::pipeline
