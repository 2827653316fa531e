// Images as bytes: their size and end, without a decoder.
#include <span>

#include "ingest/frame/image_header.h"
#include "ingest/frame/raw_picture.h"
#include "tests/fuzz/fuzzer.h"

using namespace millrace;
using namespace millrace::ingest;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(data, size);
  const absl::StatusOr<ImageHeader> header = ReadImageHeader(bytes);
  if (!header.ok()) {
    Require(absl::IsInvalidArgument(header.status()), "what is refused is INVALID_ARGUMENT");
    return 0;
  }
  Require(CheckPictureSize(header->width, header->height).ok(), "a picture has a size");
  Require(header->bytes <= size, "an image ends before its bytes do");
  const absl::StatusOr<ImageHeader> again = ReadImageHeader(bytes.first(header->bytes));
  Require(again.ok() && again->bytes == header->bytes && again->width == header->width,
          "an image without what is behind it is the same");
  return 0;
}
