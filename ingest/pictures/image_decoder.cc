#include "ingest/pictures/image_decoder.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ingest/frame/raw_picture.h"

namespace millrace::ingest {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t kPngSignatureBytes = 8;

absl::Status CannotBeDecoded(const char* reason) {
  return absl::InvalidArgumentError(absl::StrCat("this image cannot be decoded: ", reason));
}

/// A picture of this size, if it is allowed, with room for its pixels.
absl::StatusOr<std::shared_ptr<Picture>> EmptyPicture(std::int64_t width, std::int64_t height) {
  MILLRACE_RETURN_IF_ERROR(CheckPictureSize(width, height));
  auto picture = std::make_shared<Picture>();
  picture->width = static_cast<int>(width);
  picture->height = static_cast<int>(height);
  picture->rgb.resize(static_cast<std::size_t>(3 * width * height));
  return picture;
}

/// Whether the picture is complete despite the warning: some cameras write a few bytes too many.
/// The library reports only its last warning, so a missing end is looked for here.
bool IsHarmless(tjhandle decompressor, Bytes bytes) {
  constexpr std::array<std::uint8_t, 2> kEnd = {0xff, 0xd9};
  return tjGetErrorCode(decompressor) == TJERR_WARNING &&
         std::string_view(tjGetErrorStr2(decompressor)).find("extraneous") !=
             std::string_view::npos &&
         !std::ranges::search(bytes, kEnd).empty();
}

absl::StatusOr<std::shared_ptr<Picture>> DecodeJpeg(Bytes bytes) {
  const tjhandle decompressor = tjInitDecompress();
  if (decompressor == nullptr) return absl::InternalError("libjpeg could not be initialized");
  const absl::Cleanup destroy = [decompressor] { tjDestroy(decompressor); };
  int width = 0;
  int height = 0;
  int subsampling = 0;
  int colorspace = 0;
  // Also fails on subsampling that has no name in this library but can be decoded.
  const int header = tjDecompressHeader3(decompressor, bytes.data(), bytes.size(), &width, &height,
                                         &subsampling, &colorspace);
  if (width == 0) {
    return CannotBeDecoded(header == 0 ? "it does not say its size" : tjGetErrorStr2(decompressor));
  }
  MILLRACE_ASSIGN_OR_RETURN(std::shared_ptr<Picture> picture, EmptyPicture(width, height));
  // An image with a thousand scans would take minutes without the limit.
  const int result =
      tjDecompress2(decompressor, bytes.data(), bytes.size(), picture->rgb.data(), width,
                    /*pitch=*/0, height, TJPF_RGB, TJFLAG_LIMITSCANS);
  if (result == 0 || IsHarmless(decompressor, bytes)) return picture;
  return CannotBeDecoded(tjGetErrorStr2(decompressor));
}

absl::StatusOr<std::shared_ptr<Picture>> DecodePng(Bytes bytes) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  const absl::Cleanup free = [&image] { png_image_free(&image); };
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) {
    return CannotBeDecoded(image.message);
  }
  MILLRACE_ASSIGN_OR_RETURN(std::shared_ptr<Picture> picture,
                            EmptyPicture(image.width, image.height));
  image.format = PNG_FORMAT_RGBA;  // With RGB, libpng would blend transparent pixels with black.
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  std::vector<std::uint8_t> rgba(PNG_IMAGE_SIZE(image));
  if (png_image_finish_read(&image, nullptr, rgba.data(), 0, nullptr) == 0) {
    return CannotBeDecoded(image.message);
  }
  for (std::size_t from = 0, to = 0; from < rgba.size(); from += 4, to += 3) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      picture->rgb[to + channel] = rgba[from + channel];
    }
  }
  return picture;
}

bool IsJpeg(Bytes bytes) { return bytes.size() > 1 && bytes[0] == 0xff && bytes[1] == 0xd8; }

bool IsPng(Bytes bytes) {
  return bytes.size() >= kPngSignatureBytes &&
         png_sig_cmp(bytes.data(), 0, kPngSignatureBytes) == 0;
}

}  // namespace

absl::StatusOr<DecodedImage> DecodeImage(Bytes bytes) {
  DecodedImage image;
  if (IsJpeg(bytes)) {
    image.format = "JPEG";
    MILLRACE_ASSIGN_OR_RETURN(image.picture, DecodeJpeg(bytes));
  } else if (IsPng(bytes)) {
    image.format = "PNG";
    MILLRACE_ASSIGN_OR_RETURN(image.picture, DecodePng(bytes));
  } else {
    return absl::InvalidArgumentError("this is neither a JPEG nor a PNG image");
  }
  return image;
}

}  // namespace millrace::ingest
