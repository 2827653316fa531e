#include "ingest/pictures/png_picture.h"

#include <png.h>

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace millrace::ingest {
namespace {

absl::Status CannotBeDecoded(const png_image& image) {
  return absl::InvalidArgumentError(absl::StrCat("this image cannot be decoded: ", image.message));
}

}  // namespace

absl::StatusOr<std::shared_ptr<Picture>> DecodePng(std::span<const std::uint8_t> bytes) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  const absl::Cleanup free = [&image] { png_image_free(&image); };
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) {
    return CannotBeDecoded(image);
  }
  image.format = PNG_FORMAT_RGBA;  // With RGB, libpng would blend transparent pixels with black.
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  std::vector<std::uint8_t> rgba(PNG_IMAGE_SIZE(image));
  if (png_image_finish_read(&image, nullptr, rgba.data(), 0, nullptr) == 0) {
    return CannotBeDecoded(image);
  }
  auto picture = std::make_shared<Picture>();
  picture->width = static_cast<int>(image.width);
  picture->height = static_cast<int>(image.height);
  picture->rgb.resize(std::size_t{3} * image.width * image.height);
  for (std::size_t from = 0, to = 0; from < rgba.size(); from += 4, to += 3) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      picture->rgb[to + channel] = rgba[from + channel];
    }
  }
  return picture;
}

}  // namespace millrace::ingest
