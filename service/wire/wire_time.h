// Converts our times to and from protobuf's.
#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <chrono>
#include <cmath>
#include <cstdint>

#include "absl/status/statusor.h"

namespace millrace::service {

/// Writes the time since 1970-01-01 UTC. Nanoseconds are never negative, as the format requires.
inline void SetTime(std::chrono::nanoseconds since_epoch, google::protobuf::Timestamp& message) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
  message.set_seconds(seconds.count());
  message.set_nanos(static_cast<std::int32_t>((since_epoch - seconds).count()));
}

/// The time since 1970-01-01 UTC. INVALID_ARGUMENT for earlier times, for times from the year 2200
/// on, and for nanoseconds outside a second. So sums of times cannot overflow.
inline absl::StatusOr<std::chrono::nanoseconds> FromTime(
    const google::protobuf::Timestamp& message) {
  constexpr std::int64_t kEnd = 7'258'118'400;  // 2200-01-01.
  const bool is_time = message.seconds() >= 0 && message.seconds() < kEnd && message.nanos() >= 0 &&
                       message.nanos() < 1'000'000'000;
  if (is_time) {
    return std::chrono::seconds(message.seconds()) + std::chrono::nanoseconds(message.nanos());
  }
  return absl::InvalidArgumentError(
      "must be a time from 1970 to 2199, with nanos of 0 to 999999999");
}

/// Writes a duration. Seconds and nanoseconds have the same sign, as the format requires.
inline void SetDuration(std::chrono::nanoseconds duration, google::protobuf::Duration& message) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  message.set_seconds(seconds.count());
  message.set_nanos(static_cast<std::int32_t>((duration - seconds).count()));
}

/// Seconds, rounded to the nearest nanosecond.
inline std::chrono::nanoseconds FromSeconds(double seconds) {
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}
inline std::chrono::nanoseconds FromMilliseconds(double milliseconds) {
  return FromSeconds(milliseconds / 1e3);
}

}  // namespace millrace::service
