// Adds details to an error for client programs: a reason in capitals, the values in the message,
// and the invalid fields of the request.
//
// The status carries them as payloads of plain text, so that code without gRPC can set them.
// service/rpc/status.h converts them to google.rpc messages.
#pragma once

#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace millrace::service {

/// One field of a request, such as "config.source.uri", and its error.
struct FieldViolation {
  std::string field;
  std::string description;
};

/// Adds to `status` a reason, such as "STREAM_NOT_FOUND", and the values in its message. OK stays
/// OK.
[[nodiscard]] absl::Status WithReason(
    std::string_view reason,
    std::initializer_list<std::pair<std::string_view, std::string_view>> values,
    absl::Status status);

/// INVALID_ARGUMENT with the reason INVALID_FIELD. The message has one line for each violation.
/// REQUIRES: `violations` is not empty.
[[nodiscard]] absl::Status InvalidFields(const std::vector<FieldViolation>& violations);

/// RESOURCE_EXHAUSTED, SLOW_SUBSCRIBER, with the message "this `who` `what`; `advice`". `stream` is
/// empty if the error is not about one stream.
[[nodiscard]] absl::Status SlowSubscriber(std::string_view stream, const std::string& who,
                                          const std::string& what, const std::string& advice);
/// "took nothing for 10 s", for a `limit` of 10 s.
[[nodiscard]] std::string TookNothing(std::chrono::nanoseconds limit);

/// UNAVAILABLE, TOO_MANY_CHANGES: too many other calls wait ahead of this one.
[[nodiscard]] absl::Status TooManyChanges();

/// UNAVAILABLE, SERVER_STOPS: ends the calls of subscribers, watchers and clients with a pending
/// change.
[[nodiscard]] absl::Status ServerStops();

/// The reason that WithReason() set; empty if WithReason() was not called.
[[nodiscard]] std::string ReasonOf(const absl::Status& status);
[[nodiscard]] std::vector<std::pair<std::string, std::string>> ValuesOf(const absl::Status& status);
[[nodiscard]] std::vector<FieldViolation> FieldViolationsOf(const absl::Status& status);

}  // namespace millrace::service
