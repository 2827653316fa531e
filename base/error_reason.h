// What a program can tell from an error, beside its code and its words: a reason in capitals, what
// the words name, and which fields of a request are wrong.
//
// Kept with the status as payloads of plain text, so that what knows no gRPC can say them; status.h
// makes google.rpc's messages of them.
#pragma once

#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace millrace::service {

/// One field of a request, as "config.source.uri", and what is wrong with it.
struct FieldViolation {
  std::string field;
  std::string description;
};

/// `status` with a reason, as "STREAM_NOT_FOUND", and the values that its words name. OK stays OK.
[[nodiscard]] absl::Status Because(
    std::string_view reason,
    std::initializer_list<std::pair<std::string_view, std::string_view>> values,
    absl::Status status);

/// INVALID_ARGUMENT with the reason INVALID_FIELD, in words each violation, one a line.
/// REQUIRES: there is one at least.
[[nodiscard]] absl::Status InvalidFields(const std::vector<FieldViolation>& violations);

/// RESOURCE_EXHAUSTED, SLOW_SUBSCRIBER, in the words "this `who` `what`; `advice`". `stream` is
/// empty where it is not about one.
[[nodiscard]] absl::Status SlowSubscriber(std::string_view stream, const std::string& who,
                                          const std::string& what, const std::string& advice);
/// "took nothing for 10 s", of a `limit` of 10 s.
[[nodiscard]] std::string TookNothing(std::chrono::nanoseconds limit);

/// UNAVAILABLE, TOO_MANY_CHANGES: for a call that would have to wait behind too many others.
[[nodiscard]] absl::Status TooManyChanges();

/// UNAVAILABLE, SERVER_STOPS: ends the calls of subscribers, watchers and those who change
/// something then.
[[nodiscard]] absl::Status ServerStops();

/// What Because() was given; empty if it was not called.
[[nodiscard]] std::string ReasonOf(const absl::Status& status);
[[nodiscard]] std::vector<std::pair<std::string, std::string>> ValuesOf(const absl::Status& status);
[[nodiscard]] std::vector<FieldViolation> FieldViolationsOf(const absl::Status& status);

}  // namespace millrace::service
