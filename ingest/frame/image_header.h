// JPEG and PNG images as bytes that somebody else made: how large they are, and where they end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

namespace millrace::ingest {

enum class ImageFormat { kJpeg, kPng };

struct ImageHeader {
  ImageFormat format = ImageFormat::kJpeg;
  int width = 0;
  int height = 0;
  /// Bytes that the image has. What is behind them is none of it: decoders would take it for
  /// another image, of whatever size.
  std::size_t bytes = 0;
};

/// Reads what the parts of a JPEG or PNG image say of themselves. INVALID_ARGUMENT, saying what is
/// wrong, if it is neither, is cut short, or is larger than any picture may be. That says nothing
/// of what the parts hold.
[[nodiscard]] absl::StatusOr<ImageHeader> ReadImageHeader(std::span<const std::uint8_t> bytes);

}  // namespace millrace::ingest
