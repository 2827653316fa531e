// What a client sends of a picture.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ingest/frame/raw_picture.h"
#include "ingest/source/push_entry.h"
#include "millrace/v1/frame_service.pb.h"
#include "millrace/v1/picture.pb.h"

namespace millrace::service {

/// Borrows its pixels. INVALID_ARGUMENT if they are of no format.
[[nodiscard]] absl::StatusOr<ingest::RawPicture> ToRaw(const v1::RawPicture& message);

/// Of a message with a `raw` or an `image`, which it borrows. INVALID_ARGUMENT if it has neither,
/// and as ToRaw().
template <typename Message>
absl::StatusOr<ingest::PictureContent> ContentOf(const Message& message) {
  if (message.has_raw()) return ToRaw(message.raw());
  if (!message.has_image()) {
    return absl::InvalidArgumentError("there is no picture: set raw or image");
  }
  const std::string& image = message.image();
  return std::span(reinterpret_cast<const std::uint8_t*>(image.data()), image.size());
}

/// What comes with a pushed frame, but for its label. Borrows the message. INVALID_ARGUMENT as
/// ContentOf(), and where `capture_time` is none.
[[nodiscard]] absl::StatusOr<ingest::PushedPicture> ToPushed(const v1::PushedFrame& message);

}  // namespace millrace::service
