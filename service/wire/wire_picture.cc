#include "service/wire/wire_picture.h"

#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/wire/wire_time.h"

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

absl::StatusOr<ingest::PushedPicture> ToPushed(const v1::PushedFrame& message) {
  ingest::PushedPicture picture;
  MILLRACE_ASSIGN_OR_RETURN(picture.content, ContentOf(message));
  if (!message.has_capture_time()) return picture;
  const absl::StatusOr<std::chrono::nanoseconds> taken = FromTime(message.capture_time());
  if (taken.ok()) {
    picture.taken = *taken;
    return picture;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("capture_time ", std::string(taken.status().message())));
}

}  // namespace millrace::service
