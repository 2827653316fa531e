// What a client sends of a picture.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ingest/raw_picture.h"
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

}  // namespace millrace::service
