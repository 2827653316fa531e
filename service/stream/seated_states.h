// Which of a stream's sources is heard, when one takes the seat of another.
//
// The next source runs before the last one is stopped, and both tell what they are doing. What
// matters to others is the one in the seat:
//
//   source 0   connecting, streaming ............ stopped │
//   source 1              (connecting, streaming)         │ streaming, stalled ...
//                                                       Seat(1)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "ingest/source/source.h"

namespace millrace::service {

/// Forwards the states of the source that sits. Thread-safe. Must outlive the sources.
class SeatedStates {
 public:
  using Tell = std::function<void(ingest::SourceState, const absl::Status& cause)>;
  /// Stands for a source, or for the attempt to open one.
  using Number = std::int64_t;

  /// `tell` is called in the order of what happens, under a lock: it must be quick, and not call
  /// back. May be empty.
  explicit SeatedStates(Tell tell) : tell_(std::move(tell)) {}

  SeatedStates(const SeatedStates&) = delete;
  SeatedStates& operator=(const SeatedStates&) = delete;

  /// The number of a source that is to be opened. The first one, 0, sits from the beginning.
  [[nodiscard]] Number Add() ABSL_LOCKS_EXCLUDED(mu_);
  /// What the source of that number is to call: SourceOptions::on_state.
  [[nodiscard]] Tell Of(Number source);
  /// It has taken the seat: what it is doing is told now, and whatever follows.
  void Seat(Number source) ABSL_LOCKS_EXCLUDED(mu_);
  /// It could not be opened, or does not get the seat after all.
  void Forget(Number source) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct State {
    ingest::SourceState state = ingest::SourceState::kConnecting;
    absl::Status cause = {};
  };

  void Is(Number source, ingest::SourceState state, const absl::Status& cause)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const Tell tell_;

  Mutex mu_;  // Held while it is told.
  Number added_ ABSL_GUARDED_BY(mu_) = 0;
  Number seated_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<Number, State> waiting_ ABSL_GUARDED_BY(mu_);  // Of those that may sit yet.
};

}  // namespace millrace::service
