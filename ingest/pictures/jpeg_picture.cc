#include "ingest/pictures/jpeg_picture.h"

#include <turbojpeg.h>

#include <cstddef>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace millrace::ingest {
namespace {

struct Destroy {
  void operator()(void* decompressor) const { tjDestroy(decompressor); }
};

/// Whether the picture is complete despite the warning: some cameras write a few bytes too many.
bool IsHarmless(tjhandle decompressor) {
  return tjGetErrorCode(decompressor) == TJERR_WARNING &&
         std::string_view(tjGetErrorStr2(decompressor)).find("extraneous") !=
             std::string_view::npos;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Picture>> DecodeJpeg(std::span<const std::uint8_t> bytes,
                                                    const ImageHeader& header) {
  auto picture = std::make_shared<Picture>();
  picture->width = header.width;
  picture->height = header.height;
  picture->rgb.resize(std::size_t{3} * header.width * header.height);
  const std::unique_ptr<void, Destroy> decompressor(tjInitDecompress());
  if (decompressor == nullptr) return absl::InternalError("libjpeg could not be initialized");
  // An image with a thousand scans would take minutes without the limit.
  const int result =
      tjDecompress2(decompressor.get(), bytes.data(), header.bytes, picture->rgb.data(),
                    header.width, /*pitch=*/0, header.height, TJPF_RGB, TJFLAG_LIMITSCANS);
  if (result == 0 || IsHarmless(decompressor.get())) return picture;
  return absl::InvalidArgumentError(
      absl::StrCat("this image cannot be decoded: ", tjGetErrorStr2(decompressor.get())));
}

}  // namespace millrace::ingest
