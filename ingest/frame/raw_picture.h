// Pictures as pixels that somebody else made: of which form they are, and whether they can be.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>

#include "absl/status/status.h"
#include "ingest/frame/frame.h"

namespace millrace::ingest {

/// How a pixel is written: as red, green, blue bytes, or as one byte of grey.
enum class PixelFormat { kRgb, kGray };

[[nodiscard]] constexpr int BytesPerPixel(PixelFormat format) {
  return format == PixelFormat::kRgb ? 3 : 1;
}

/// No picture is wider or higher. So no few bytes can ask for gigabytes.
inline constexpr int kMostPixelsPerSide = 16'384;
/// What a picture may have in all: more than any camera's.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;

/// Pixels, rows first. Borrowed.
struct RawPicture {
  PixelFormat format = PixelFormat::kRgb;
  int width = 0;
  int height = 0;
  /// Bytes from a row's start to the next one's; 0: rows follow each other without padding.
  int stride = 0;
  std::span<const std::uint8_t> bytes;

  [[nodiscard]] std::int64_t RowBytes() const {
    return std::int64_t{width} * BytesPerPixel(format);
  }
  [[nodiscard]] std::int64_t Stride() const { return stride == 0 ? RowBytes() : stride; }
};

/// A picture as somebody brings it: pixels, or a JPEG or PNG image. Borrowed.
using PictureContent = std::variant<RawPicture, std::span<const std::uint8_t>>;

/// INVALID_ARGUMENT, saying what is wrong, unless `picture` has a size and as many bytes as that
/// takes. The last row's padding may be left out.
[[nodiscard]] absl::Status CheckRawPicture(const RawPicture& picture);

/// INVALID_ARGUMENT unless a picture may be so large.
[[nodiscard]] absl::Status CheckPictureSize(std::int64_t width, std::int64_t height);

/// The pixels as red, green and blue, without padding. REQUIRES: CheckRawPicture() is OK.
[[nodiscard]] std::shared_ptr<Picture> Packed(const RawPicture& raw);

}  // namespace millrace::ingest
