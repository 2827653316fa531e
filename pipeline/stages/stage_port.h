// What a plan's stage on another rank does here: its operations send and receive (plan_part.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "pipeline/plan/plan.h"
#include "pipeline/stages/channel_rings.h"
#include "pipeline/stages/running_plan.h"
#include "pipeline/stages/tensor_message.h"
#include "pipeline/wires/wires.h"

namespace millrace::pipeline {

/// The ranks that run a plan's stages, and the way to them.
struct RankWires {
  /// Of this rank. Outlive it.
  Wires& wires;
  /// By stage.
  std::vector<int> rank_of_stage;
  int own_rank = 0;
  /// In the head of each message. A message of another epoch is refused.
  std::int64_t epoch = 0;

  /// A follower sends a copy of each stage to the leader every n samples. 0: never.
  int copy_every = 0;

  /// What this rank sends. Null: the network counts by itself.
  std::shared_ptr<SentToRanks> sent = nullptr;

  /// Tags below are free for other messages.
  static constexpr int kFirstTag = 16;
};

/// A stage of another rank. Forwards may run on another thread than backwards.
class StagePort {
 public:
  /// REQUIRES: `running_plan` has a part of a plan, with `number` on another rank, and counts of
  /// wires. The arguments outlive it.
  StagePort(int number, const RankWires& ranks, MessageRoutes& routes, RunningPlan& running_plan);

  StagePort(const StagePort&) = delete;
  StagePort& operator=(const StagePort&) = delete;

  /// Sends or receives the tensors of the step's samples, on all channels to stages of this rank.
  /// Begins all sends before it waits for one, so that no channel's receiver waits behind
  /// another's. Throws a StepError with the cause of a failed transfer.
  void Run(const Step& step) const;

 private:
  // A channel between this stage and one of this rank. One route carries its forwards, the other
  // one its gradients.
  struct Way {
    ChannelRings* rings;
    TensorSender* out = nullptr;   // Null: nothing is sent.
    TensorReceiver* in = nullptr;  // Null: nothing is received.
  };
  // One sample on one way.
  struct Item {
    const Way* way;
    std::int64_t sample;
  };

  [[nodiscard]] bool Sends(OperationKind kind) const;
  [[nodiscard]] std::vector<Item> ItemsOf(const Step& step) const;
  [[nodiscard]] std::int64_t GradientPosition(const Item& item) const;
  [[nodiscard]] TensorMessage Outgoing(const Item& item, OperationKind kind) const;
  void Write(const Item& item, OperationKind kind, TensorMessage message) const;
  [[nodiscard]] absl::Status Send(const std::vector<Item>& items, OperationKind kind) const;
  [[nodiscard]] absl::Status Receive(const std::vector<Item>& items, OperationKind kind) const;

  const int number_;
  const RunningPlan& running_plan_;
  std::vector<Way> ways_;  // In the order of the plan's channels.
};

}  // namespace millrace::pipeline
