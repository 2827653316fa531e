// Pictures as pixels from an untrusted source: their format, and checks of their size.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>

#include "absl/status/status.h"
#include "ingest/frame/frame.h"

namespace millrace::ingest {

/// The bytes of a pixel: red, green and blue, or one byte of grey.
enum class PixelFormat { kRgb, kGray };

[[nodiscard]] constexpr int BytesPerPixel(PixelFormat format) {
  return format == PixelFormat::kRgb ? 3 : 1;
}

/// The maximum width and height, so that a few bytes cannot claim gigabytes.
inline constexpr int kMaxPixelsPerSide = 16'384;
/// The maximum pixels of a picture: more than any camera has.
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 26;

/// Pixels, rows first. Borrowed.
struct RawPicture {
  PixelFormat format = PixelFormat::kRgb;
  int width = 0;
  int height = 0;
  /// Bytes from one row's start to the next; 0: rows without padding.
  int stride = 0;
  std::span<const std::uint8_t> bytes;

  [[nodiscard]] std::int64_t RowBytes() const {
    return std::int64_t{width} * BytesPerPixel(format);
  }
  [[nodiscard]] std::int64_t Stride() const { return stride == 0 ? RowBytes() : stride; }
};

/// A picture from a client: pixels, or a JPEG or PNG image. Borrowed.
using PictureContent = std::variant<RawPicture, std::span<const std::uint8_t>>;

/// INVALID_ARGUMENT with the cause unless `picture` has a valid size and the bytes for it. The
/// padding of the last row may be missing.
[[nodiscard]] absl::Status CheckRawPicture(const RawPicture& picture);

/// INVALID_ARGUMENT if a picture of this size is not allowed.
[[nodiscard]] absl::Status CheckPictureSize(std::int64_t width, std::int64_t height);

/// The pixels as red, green and blue, without padding. REQUIRES: CheckRawPicture() is OK.
[[nodiscard]] std::shared_ptr<Picture> Packed(const RawPicture& raw);

}  // namespace millrace::ingest
