// Converts single pictures, encoded or as pixels, to one size.
//
// A camera's pictures come from one continuous pipeline (gst_pipeline.h). Here each picture is
// independent, and its sender gets its error at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "ingest/frame/frame.h"
#include "ingest/frame/raw_picture.h"

namespace millrace::ingest {

/// A picture of the requested size, and its original size.
struct MadePicture {
  std::shared_ptr<const Picture> picture;
  int own_width = 0;
  int own_height = 0;
};

/// Thread-safe: calls are independent, and work on the caller's thread.
class PictureMaker {
 public:
  /// REQUIRES: both positive.
  PictureMaker(int width, int height) : width_(width), height_(height) {}

  /// Scales and crops the picture as a camera's picture, with its aspect ratio. INVALID_ARGUMENT as
  /// CheckRawPicture().
  [[nodiscard]] absl::StatusOr<MadePicture> FromPixels(const RawPicture& raw) const;

  /// Decodes a JPEG or PNG image. INVALID_ARGUMENT with the cause if that fails.
  [[nodiscard]] absl::StatusOr<MadePicture> FromImage(std::span<const std::uint8_t> bytes) const;

  /// Calls FromPixels() or FromImage().
  [[nodiscard]] absl::StatusOr<MadePicture> From(const PictureContent& content) const;

 private:
  const int width_;
  const int height_;
};

}  // namespace millrace::ingest
