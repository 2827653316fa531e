// Carries bytes between the ranks of one learner (plan_part.h).
//
// A send and a receive of the same two ranks and the same tag belong together, in the order in
// which each side began them. Transfers with other tags do not wait for each other. A sender may
// wait until its receiver has begun. So wires need no memory of their own, and a rank that falls
// behind stops the ranks before it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "absl/status/status.h"

namespace millrace::pipeline {

/// A transfer that has begun. It uses its bytes until it is destroyed. For one thread.
class WireTransfer {
 public:
  virtual ~WireTransfer() = default;

  /// Waits until the bytes have arrived, or, for a send, may be changed. Fails with UNAVAILABLE if
  /// the other rank is lost, and with the cause after Wires::Abort(). REQUIRES: the first call.
  [[nodiscard]] virtual absl::Status Wait() = 0;
};

/// The ends of one rank's wires to all other ranks. Thread-safe.
class Wires {
 public:
  virtual ~Wires() = default;

  /// Begins to send `bytes` to `rank`. Never waits. A failure is that of WireTransfer::Wait().
  [[nodiscard]] virtual std::unique_ptr<WireTransfer> Send(int rank, int tag,
                                                           std::span<const std::byte> bytes) = 0;
  /// Begins to receive from `rank`. If the sender's bytes are fewer than `bytes`, they fill its
  /// first part; more are not allowed. Never waits. A failure is that of WireTransfer::Wait().
  [[nodiscard]] virtual std::unique_ptr<WireTransfer> Receive(int rank, int tag,
                                                              std::span<std::byte> bytes) = 0;

  /// Ends all transfers of this rank, also later ones, with `cause`. Later calls have no effect.
  /// REQUIRES: `cause` is an error.
  virtual void Abort(const absl::Status& cause) = 0;
};

}  // namespace millrace::pipeline
