// What a subscriber asks for. Includes no protobuf, so that a reader of a ring needs none.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "service/frames/prediction_ring.h"
#include "service/registry/served_stream.h"
#include "service/wire/prediction_parts.h"

namespace millrace::v1 {
class SubscribeRequest;
}

namespace millrace::service {

/// How one subscriber reads a stream's predictions.
struct SubscriptionOptions {
  ReadPolicy policy = {};
  /// A reader that would lose a prediction ends instead.
  bool lossless = false;
  /// The start position. Absent: the next prediction.
  std::optional<PredictionRing::Cursor> begin = {};
  PredictionParts parts = {};
};

/// The memory that one reader's depth may keep alive: 256 predictions of 320 x 240.
inline constexpr std::int64_t kMaxHeldBytes = std::int64_t{256} << 20;

/// The options in `request` for `served`. INVALID_ARGUMENT if a field is wrong or the depth would
/// keep more than kMaxHeldBytes. OUT_OF_RANGE if it resumes another run or a position in the
/// future.
[[nodiscard]] absl::StatusOr<SubscriptionOptions> ToOptions(const v1::SubscribeRequest& request,
                                                            const ServedStream& served);

}  // namespace millrace::service
