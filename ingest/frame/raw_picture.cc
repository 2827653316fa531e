#include "ingest/frame/raw_picture.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace millrace::ingest {

absl::Status CheckPictureSize(std::int64_t width, std::int64_t height) {
  if (width < 1 || height < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the picture is ", width, " x ", height, "; it must have pixels"));
  }
  if (width <= kMaxPixelsPerSide && height <= kMaxPixelsPerSide && width * height <= kMaxPixels) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the picture is ", width, " x ", height, "; it must be at most ", kMaxPixelsPerSide,
      " pixels wide and high, and have at most ", kMaxPixels, " of them"));
}

absl::Status CheckRawPicture(const RawPicture& picture) {
  MILLRACE_RETURN_IF_ERROR(CheckPictureSize(picture.width, picture.height));
  if (picture.Stride() < picture.RowBytes()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the stride is ", picture.stride, " bytes, and a row of ", picture.width, " pixels has ",
        picture.RowBytes(), "; leave it out where there is no padding"));
  }
  const std::int64_t whole = picture.Stride() * picture.height;
  const std::int64_t min_bytes = whole - picture.Stride() + picture.RowBytes();
  const auto bytes = static_cast<std::int64_t>(picture.bytes.size());
  if (min_bytes <= bytes && bytes <= whole) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the picture has ", bytes, " bytes; ", picture.width, " x ", picture.height, " pixels of ",
      BytesPerPixel(picture.format), " and a stride of ", picture.Stride(), " make ", whole));
}

std::shared_ptr<Picture> Packed(const RawPicture& raw) {
  auto picture = std::make_shared<Picture>();
  picture->width = raw.width;
  picture->height = raw.height;
  const auto row_bytes = static_cast<std::size_t>(raw.RowBytes());
  picture->rgb.reserve(std::size_t{3} * raw.width * raw.height);
  for (int y = 0; y < raw.height; ++y) {
    const auto row = raw.bytes.subspan(static_cast<std::size_t>(raw.Stride()) * y, row_bytes);
    if (raw.format == PixelFormat::kRgb) {
      picture->rgb.insert(picture->rgb.end(), row.begin(), row.end());
      continue;
    }
    for (const std::uint8_t grey : row) picture->rgb.insert(picture->rgb.end(), 3, grey);
  }
  return picture;
}

}  // namespace millrace::ingest
