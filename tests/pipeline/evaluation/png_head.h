// The head of a PNG file.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>

namespace millrace::pipeline {

/// A PNG file whose head says that size and which has nothing else.
inline std::string PngHead(std::uint32_t width, std::uint32_t height) {
  const auto big_endian = [](std::uint32_t number) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<char>(number >> shift & 0xFF));
    }
    return bytes;
  };
  // 16 bits, three colours.
  const std::string head =
      "IHDR" + big_endian(width) + big_endian(height) + std::string("\x10\x02\x00\x00\x00", 5);
  const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(head.data()), head.size());
  return "\x89PNG\r\n\x1A\n" + big_endian(13) + head + big_endian(crc);
}

}  // namespace millrace::pipeline
