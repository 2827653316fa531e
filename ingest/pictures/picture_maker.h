// Makes pictures of one size of those that come by themselves, one by one: encoded, or as pixels.
//
// A camera's pictures come out of one pipeline that runs on (gst_pipeline.h). Here each is a whole
// of its own, and whoever brings it hears at once what is wrong with it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "ingest/frame/frame.h"
#include "ingest/frame/raw_picture.h"

namespace millrace::ingest {

/// A picture of the size that was asked for, and the size that it came in.
struct MadePicture {
  std::shared_ptr<const Picture> picture;
  int own_width = 0;
  int own_height = 0;
};

/// Thread-safe: each call stands alone, and works on the caller's thread.
class PictureMaker {
 public:
  /// REQUIRES: both positive.
  PictureMaker(int width, int height) : width_(width), height_(height) {}

  /// Scaled as a camera's pictures are: cropped, not squashed. INVALID_ARGUMENT as
  /// CheckRawPicture().
  [[nodiscard]] absl::StatusOr<MadePicture> FromPixels(const RawPicture& raw) const;

  /// Decodes a JPEG or PNG image. INVALID_ARGUMENT, saying why, where it cannot be.
  [[nodiscard]] absl::StatusOr<MadePicture> FromImage(std::span<const std::uint8_t> bytes) const;

  /// As the one that it is.
  [[nodiscard]] absl::StatusOr<MadePicture> From(const PictureContent& content) const;

 private:
  const int width_;
  const int height_;
};

}  // namespace millrace::ingest
