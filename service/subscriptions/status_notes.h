// Decides when a subscriber gets a status of its stream in addition to the predictions.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "millrace/v1/prediction_service.pb.h"
#include "service/registry/served_stream.h"
#include "service/registry/stream_event_log.h"

namespace millrace::service {

/// The statuses of one subscription: one at its start, one after each change, and one after a
/// period without any message. Not thread-safe.
class StatusNotes {
 public:
  /// A subscriber gets a message at least every ten seconds: subscriptions are checked once a
  /// second.
  static constexpr std::chrono::seconds kMaxSilence{9};

  /// The arguments must outlive it.
  StatusNotes(const ServedStream& served, const StreamEventLog& events, const Clock& clock);

  /// The status, if it differs from the last one sent. Cheap without a change.
  [[nodiscard]] std::optional<v1::StreamStatus> Changed();
  /// The status, if no message was sent for kMaxSilence.
  [[nodiscard]] std::optional<v1::StreamStatus> AfterSilence();
  /// Notes that a message of any kind is sent now.
  void Sent() { last_sent_ = clock_.Now(); }

 private:
  [[nodiscard]] bool SomethingHappened();

  // Constant after construction.
  const ServedStream& served_;
  const StreamEventLog& events_;
  const Clock& clock_;

  std::string name_;
  StreamEventLog::Cursor cursor_;
  std::optional<v1::StreamStatus> told_;
  std::chrono::nanoseconds last_sent_;
};

}  // namespace millrace::service
