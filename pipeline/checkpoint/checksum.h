// A checksum of bytes, for files of ours.
#pragma once

#include <string>
#include <string_view>

namespace millrace::pipeline {

/// FNV-1a with 64 bits, in hexadecimal: finds what a disk or a careless copy does to bytes.
[[nodiscard]] std::string Checksum(std::string_view bytes);

}  // namespace millrace::pipeline
