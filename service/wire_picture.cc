#include "service/wire_picture.h"

#include "absl/strings/str_cat.h"

namespace millrace::service {

absl::StatusOr<ingest::RawPicture> ToRaw(const v1::RawPicture& message) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(message.data().data());
  ingest::RawPicture raw = {.format = ingest::PixelFormat::kRgb,
                            .width = message.width(),
                            .height = message.height(),
                            .stride = message.stride(),
                            .bytes = {bytes, message.data().size()}};
  switch (message.format()) {
    case v1::PIXEL_FORMAT_RGB:
      return raw;
    case v1::PIXEL_FORMAT_GRAY8:
      raw.format = ingest::PixelFormat::kGray;
      return raw;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("raw.format is ", message.format(), "; it must be RGB or GRAY8"));
  }
}

}  // namespace millrace::service
