// Turns at work that should not run twice at a time, such as measurements. A holder that does not
// end keeps no other waiting: after a limit, the next turn begins beside it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace millrace::service {

/// One turn at a time, in the order of the calls. Thread-safe. Must outlive the turns.
class Turns {
 public:
  /// Lasts until destruction.
  class Turn {
   public:
    Turn(Turn&& other) noexcept
        : turns_(std::exchange(other.turns_, nullptr)), ticket_(other.ticket_) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turns_ != nullptr) turns_->End(ticket_);
    }

   private:
    friend class Turns;
    Turn(Turns& turns, std::uint64_t ticket) : turns_(&turns), ticket_(ticket) {}

    Turns* turns_;
    std::uint64_t ticket_;
  };

  struct Options {
    /// A turn that lasts longer while another call waits is overtaken.
    std::chrono::milliseconds max_turn = std::chrono::seconds(30);
    /// Called with the name of the overtaken holder, by a call that waited. May be empty.
    std::function<void(const std::string& holder)> on_overtaken = {};
  };

  explicit Turns(Options options) : options_(std::move(options)) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// Waits for the earlier turns. `holder` names the caller. Fails with CANCELLED once `stop` is
  /// requested.
  [[nodiscard]] absl::StatusOr<Turn> Take(const std::string& holder, const std::stop_token& stop)
      ABSL_LOCKS_EXCLUDED(mu_);
  /// The calls that wait for a turn.
  [[nodiscard]] std::size_t waiting() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Time = std::chrono::steady_clock::time_point;

  struct Place {
    std::uint64_t ticket = 0;
    std::string holder;
  };

  absl::StatusOr<Turn> TakeInOrder(const std::string& holder, const std::stop_token& stop,
                                   std::vector<std::string>& overtaken) ABSL_LOCKS_EXCLUDED(mu_);
  void End(std::uint64_t ticket) ABSL_LOCKS_EXCLUDED(mu_);
  void Leave(std::uint64_t ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const Options options_;

  mutable Mutex mu_;
  CondVar changed_;
  std::uint64_t next_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<Place> queue_ ABSL_GUARDED_BY(mu_);  // The current turn, then the waiting calls.
  Time since_ ABSL_GUARDED_BY(mu_);               // The begin of the current turn.
};

}  // namespace millrace::service
