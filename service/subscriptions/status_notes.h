// When a subscriber is told what its stream is doing, beside the predictions.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "millrace/v1/prediction_service.pb.h"
#include "service/registry/served_stream.h"
#include "service/registry/stream_events.h"

namespace millrace::service {

/// The statuses of one subscription: one at its start, one after each change, and one whenever
/// nothing has been sent for a while. One thread at a time.
class StatusNotes {
 public:
  /// A subscriber has something after ten seconds at most: subscriptions are looked at once a
  /// second.
  static constexpr std::chrono::seconds kMostSilence{9};

  /// What it is given must outlive it.
  StatusNotes(const ServedStream& served, const StreamEvents& events, const Clock& clock);

  /// The status, unless the subscriber has been told the same. Cheap where nothing has happened.
  [[nodiscard]] std::optional<v1::StreamStatus> Changed();
  /// The status, if nothing has been sent for kMostSilence.
  [[nodiscard]] std::optional<v1::StreamStatus> AfterSilence();
  /// Something is sent now, whatever it is.
  void Sent() { last_sent_ = clock_.Now(); }

 private:
  [[nodiscard]] bool SomethingHappened();

  // Constant after construction.
  const ServedStream& served_;
  const StreamEvents& events_;
  const Clock& clock_;

  std::string name_;
  StreamEvents::Cursor cursor_;
  std::optional<v1::StreamStatus> told_;
  std::chrono::nanoseconds last_sent_;
};

}  // namespace millrace::service
