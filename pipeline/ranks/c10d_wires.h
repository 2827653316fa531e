// Wires over a process group of PyTorch's c10d.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "pipeline/wires/wires.h"

namespace millrace::pipeline {

/// A wait has no time limit of its own, because a limit would close the connection for good, and a
/// camera may pause for hours. Abort() ends it. Thread-safe. Outlives its transfers.
class C10dWires final : public Wires {
 public:
  /// The failure of a transfer with `rank`, for the text of c10d's error.
  using OnLost = std::function<absl::Status(int rank, const std::string& why)>;

  C10dWires(c10::intrusive_ptr<c10d::Backend> group, OnLost on_lost);
  ~C10dWires() override;

  std::unique_ptr<WireTransfer> Send(int rank, int tag, std::span<const std::byte> bytes) override;
  std::unique_ptr<WireTransfer> Receive(int rank, int tag, std::span<std::byte> bytes) override;
  void Abort(const absl::Status& cause) override ABSL_LOCKS_EXCLUDED(mu_);

 private:
  class Posted;

  template <typename Begin>
  std::unique_ptr<WireTransfer> Post(int rank, const Begin& begin) ABSL_LOCKS_EXCLUDED(mu_);

  const c10::intrusive_ptr<c10d::Backend> group_;
  const OnLost on_lost_;

  Mutex mu_;
  absl::Status aborted_ ABSL_GUARDED_BY(mu_);             // OK until Abort().
  std::set<c10d::Work*> under_way_ ABSL_GUARDED_BY(mu_);  // Each belongs to a transfer.
};

}  // namespace millrace::pipeline
