// Images as bytes: a JPEG or PNG image is decoded whole, or refused with a reason.
#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ingest/frame/raw_picture.h"
#include "ingest/pictures/image_decoder.h"
#include "tests/fuzz/fuzzer.h"

using namespace millrace;
using namespace millrace::ingest;

namespace {

using Bytes = std::span<const std::uint8_t>;

// Larger images only take longer.
constexpr std::int64_t kMaxPixelsHere = 1 << 16;

std::int64_t PixelsOfPng(Bytes bytes) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) return 0;
  const std::int64_t pixels = std::int64_t{1} * image.width * image.height;
  png_image_free(&image);
  return pixels;
}

std::int64_t PixelsOfJpeg(Bytes bytes) {
  const tjhandle decompressor = tjInitDecompress();
  int width = 0;
  int height = 0;
  int subsampling = 0;
  int colorspace = 0;
  tjDecompressHeader3(decompressor, bytes.data(), bytes.size(), &width, &height, &subsampling,
                      &colorspace);
  tjDestroy(decompressor);
  return std::int64_t{1} * width * height;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(data, size);
  if (size == 0 || std::max(PixelsOfPng(bytes), PixelsOfJpeg(bytes)) > kMaxPixelsHere) return 0;
  const absl::StatusOr<DecodedImage> image = DecodeImage(bytes);
  if (!image.ok()) {
    Require(absl::IsInvalidArgument(image.status()), "a refusal is INVALID_ARGUMENT");
    return 0;
  }
  const Picture& picture = *image->picture;
  Require(CheckPictureSize(picture.width, picture.height).ok(), "a picture has an allowed size");
  Require(picture.rgb.size() == std::size_t{3} * picture.width * picture.height,
          "a picture has all of its pixels");
  return 0;
}
