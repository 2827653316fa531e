// Reports the states of a stream's current source while one source replaces another.
//
// The next source runs before the last one is stopped, and both report their states. Only the
// current source's states are forwarded:
//
//   source 0   connecting, streaming ............ stopped │
//   source 1              (connecting, streaming)         │ streaming, stalled ...
//                                                     Activate(1)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "ingest/source/source.h"

namespace millrace::service {

/// Forwards the states of the current source. Thread-safe. Must outlive the sources.
class ActiveSourceState {
 public:
  using OnState = std::function<void(ingest::SourceState, const absl::Status& cause)>;
  /// Identifies a source, or an attempt to open one.
  using Number = std::int64_t;

  /// `on_state` is called in the order of the states, under a lock: it must return quickly and not
  /// call back. May be empty.
  explicit ActiveSourceState(OnState on_state) : on_state_(std::move(on_state)) {}

  ActiveSourceState(const ActiveSourceState&) = delete;
  ActiveSourceState& operator=(const ActiveSourceState&) = delete;

  /// A number for a source that will be opened. The first one, 0, is current from the beginning.
  [[nodiscard]] Number Add() ABSL_LOCKS_EXCLUDED(mu_);
  /// The function for the source's SourceOptions::on_state.
  [[nodiscard]] OnState ReporterOf(Number source);
  /// Makes `source` current: reports its present state now, and each later one.
  void Activate(Number source) ABSL_LOCKS_EXCLUDED(mu_);
  /// Removes a source that could not be opened or does not become current.
  void Forget(Number source) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct State {
    ingest::SourceState state = ingest::SourceState::kConnecting;
    absl::Status cause = {};
  };

  void Report(Number source, ingest::SourceState state, const absl::Status& cause)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const OnState on_state_;

  Mutex mu_;  // Held during `on_state`.
  Number added_ ABSL_GUARDED_BY(mu_) = 0;
  Number active_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<Number, State> waiting_ ABSL_GUARDED_BY(mu_);  // Of sources that may become current.
};

}  // namespace millrace::service
