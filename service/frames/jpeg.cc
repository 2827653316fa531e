#include "service/frames/jpeg.h"

#include <turbojpeg.h>

#include <memory>

#include "absl/strings/str_cat.h"

namespace millrace::service {
namespace {

struct Destroy {
  void operator()(void* compressor) const { tjDestroy(compressor); }
};
struct Free {
  void operator()(unsigned char* bytes) const { tjFree(bytes); }
};

}  // namespace

absl::StatusOr<std::string> EncodeJpeg(std::span<const std::uint8_t> rgb, int width, int height,
                                       const JpegOptions& options) {
  if (width <= 0 || height <= 0 ||
      rgb.size() != static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("a picture of ", width, "x", height, " has ", rgb.size(), " bytes"));
  }
  const std::unique_ptr<void, Destroy> compressor(tjInitCompress());
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const int result =
      tjCompress2(compressor.get(), rgb.data(), width, /*pitch=*/0, height, TJPF_RGB, &bytes, &size,
                  options.fine_colors ? TJSAMP_444 : TJSAMP_420, options.quality, /*flags=*/0);
  const std::unique_ptr<unsigned char, Free> owned(bytes);
  if (result != 0) {
    return absl::InternalError(
        absl::StrCat("libjpeg could not encode a picture: ", tjGetErrorStr2(compressor.get())));
  }
  return std::string(bytes, bytes + size);
}

}  // namespace millrace::service
