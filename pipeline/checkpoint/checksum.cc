#include "pipeline/checkpoint/checksum.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace millrace::pipeline {

std::string Checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return absl::StrCat(absl::Hex(hash, absl::kZeroPad16));
}

}  // namespace millrace::pipeline
