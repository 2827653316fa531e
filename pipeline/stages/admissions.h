// Tells the other ranks of each admitted sample. The leader admits it; each rank runs the whole
// plan, so it admits the same samples.
#pragma once

#include <cstdint>
#include <deque>
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
  /// REQUIRES: `plan` is the leader's part. The other arguments outlive it.
  AdmissionSender(const Plan& plan, const RankWires& ranks, MessageRoutes& routes);

  /// Begins to send the sample's number and the factor on its learning rates, and its input to
  /// ranks that read it. Waits only if a rank is further behind than the plan allows.
  [[nodiscard]] absl::Status Send(std::int64_t sample, double rate_scale, const at::Tensor& input);

  /// Sends a kPause, kSwitch or kEnd before sample `next`, and waits until all messages are sent.
  [[nodiscard]] absl::Status Stop(MessageKind kind, std::int64_t next);

 private:
  [[nodiscard]] absl::Status WaitForOldest(std::size_t under_way);

  // An end of a route for each other rank.
  struct Reader {
    TensorSender* route;
    bool reads_input;
  };
  std::vector<Reader> readers_;
  std::size_t max_under_way_;  // Messages.
  std::deque<OutgoingMessage> under_way_;
};

/// A follower's side. For one thread.
class AdmissionReceiver {
 public:
  /// REQUIRES: `ranks` outlives it.
  explicit AdmissionReceiver(const RankWires& ranks);

  /// Waits for the next sample, a pause, or the end. A sample has its input as the only tensor if a
  /// stage of this rank reads it. Fails as TensorReceiver::Next().
  [[nodiscard]] absl::StatusOr<TensorMessage> Next() { return receiver_.Next(); }

 private:
  TensorReceiver receiver_;
};

}  // namespace millrace::pipeline
