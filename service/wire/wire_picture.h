// Reads pictures from clients' messages.
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

/// Borrows the message's pixels. INVALID_ARGUMENT if the format is invalid.
[[nodiscard]] absl::StatusOr<ingest::RawPicture> ToRaw(const v1::RawPicture& message);

/// Reads a message with a `raw` or an `image`, which it borrows. INVALID_ARGUMENT if it has
/// neither, and as ToRaw() fails.
template <typename Message>
absl::StatusOr<ingest::PictureContent> ContentOf(const Message& message) {
  if (message.has_raw()) return ToRaw(message.raw());
  if (!message.has_image()) {
    return absl::InvalidArgumentError("there is no picture: set raw or image");
  }
  const std::string& image = message.image();
  return std::span(reinterpret_cast<const std::uint8_t*>(image.data()), image.size());
}

/// Reads a pushed frame without its label. Borrows the message. INVALID_ARGUMENT as ContentOf(),
/// and if `capture_time` is invalid.
[[nodiscard]] absl::StatusOr<ingest::PushedPicture> ToPushed(const v1::PushedFrame& message);

}  // namespace millrace::service
