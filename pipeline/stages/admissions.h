// Tells the other ranks of each admitted sample. The leader admits it; each rank runs the whole
// plan, so it admits the same samples.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/plan/plan.h"
#include "pipeline/stages/stage_port.h"
#include "pipeline/stages/tensor_message.h"

namespace millrace::pipeline {

/// The leader's side. For the thread that admits samples.
class AdmissionSender {
 public:
  /// REQUIRES: `plan` is the leader's part. `ranks` outlives it.
  AdmissionSender(const Plan& plan, const RankWires& ranks);

  /// Begins to send the sample's number, and its input to ranks that read it. Waits only if a rank
  /// is further behind than the plan allows. `input` must not change afterwards.
  [[nodiscard]] absl::Status Send(std::int64_t sample, const at::Tensor& input);

  /// Ends the stream before sample `end`, and waits until all ranks know.
  [[nodiscard]] absl::Status End(std::int64_t end);

 private:
  [[nodiscard]] absl::Status WaitForOldest(std::size_t under_way);

  const RankWires& ranks_;
  std::vector<bool> reads_input_;  // By rank.
  std::size_t max_under_way_;      // Messages.
  std::deque<OutgoingMessage> under_way_;
};

/// A follower's side. For one thread.
class AdmissionReceiver {
 public:
  /// REQUIRES: `ranks` outlives it.
  explicit AdmissionReceiver(const RankWires& ranks);

  struct Admitted {
    std::int64_t sample = 0;
    /// Undefined if no stage of this rank reads it.
    at::Tensor input;
  };
  /// Waits for the next sample; nullopt at the end of the stream. Fails as IncomingMessage::Wait().
  [[nodiscard]] absl::StatusOr<std::optional<Admitted>> Next();

 private:
  const MessageRoute route_;
  std::optional<IncomingMessage> next_;
};

}  // namespace millrace::pipeline
