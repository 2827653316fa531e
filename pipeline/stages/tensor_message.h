// Tensors on their way between two ranks: a head (message_head.h), then the memory of all tensors.
//
// Most messages of a lane are as long as the one before. So the receiver begins to receive the next
// one before it is sent, head and tensors as one transfer. Then the sender does not wait, and each
// side needs few system calls. If the length differs, the sender sends only the head, and the
// tensors as a second transfer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/nn/layer.h"
#include "pipeline/ranks/rank_work.h"
#include "pipeline/wires/message_head.h"
#include "pipeline/wires/wires.h"

namespace millrace::pipeline {

/// What a rank has sent to another one. Thread-safe.
struct SentCounters {
  std::atomic<std::int64_t> bytes = 0;
  /// The time that senders of tensors waited for the network or the receiver.
  std::atomic<std::int64_t> busy_ns = 0;
};

/// By rank.
using SentToRanks = std::vector<SentCounters>;

/// The counters now.
[[nodiscard]] std::vector<SentToRank> Read(const SentToRanks& sent);

/// The way of messages of one kind, a lane. Messages have the tag, tensors apart the next one.
struct MessageRoute {
  static constexpr int kTags = 2;

  Wires& wires;
  /// The other rank.
  int rank = 0;
  int tag = 0;
  std::int64_t epoch = 0;
};

struct TensorMessage {
  std::int64_t sample = 0;
  /// See MessageHead.
  MessageKind kind = MessageKind::kTensors;
  double rate_scale = 1;
  /// On the CPU. May be undefined. None unless `kind` is kTensors.
  Tensors tensors = {};
};

/// A message that is being sent. For one thread.
class OutgoingMessage {
 public:
  /// Waits until the message has left. Fails as WireTransfer::Wait(), and as Encode().
  [[nodiscard]] absl::Status Wait();

 private:
  friend class TensorSender;

  at::Tensor memory_;  // Of the head and the tensors. The transfers use it.
  absl::Status encoded_;
  std::vector<std::unique_ptr<WireTransfer>> transfers_;
};

/// The sending end of a lane. For one thread at a time.
class TensorSender {
 public:
  /// Counts in `sent`, which outlives it.
  TensorSender(const MessageRoute& route, SentCounters& sent) : route_(route), sent_(sent) {}

  /// Begins to send, without waiting. The tensors may be changed afterwards.
  [[nodiscard]] OutgoingMessage Send(const TensorMessage& message);

 private:
  const MessageRoute route_;
  SentCounters& sent_;
  std::int64_t usual_bytes_ = 0;  // Of the tensors of the last message that had any.
};

/// The receiving end of a lane. For one thread at a time.
class TensorReceiver {
 public:
  /// Begins to receive, without waiting.
  explicit TensorReceiver(const MessageRoute& route);

  /// Waits for the whole message. The tensors have the sizes and strides of the sender's. Fails as
  /// WireTransfer::Wait(), and with DATA_LOSS if the head is damaged or of another epoch. REQUIRES:
  /// no call has failed or returned a kEnd.
  [[nodiscard]] absl::StatusOr<TensorMessage> Next();

  /// The same. Also fails with DATA_LOSS unless the message is for `sample`, and has `tensors`
  /// tensors or is kInvalid.
  [[nodiscard]] absl::StatusOr<TensorMessage> Next(std::int64_t sample, int tensors);

 private:
  void Begin();
  [[nodiscard]] absl::StatusOr<MessageHead> WaitForHead();
  [[nodiscard]] absl::StatusOr<TensorMessage> WaitForTensors(const MessageHead& head);

  const MessageRoute route_;
  std::int64_t usual_bytes_ = 0;  // As the sender's.
  at::Tensor memory_;             // The transfer uses it.
  std::unique_ptr<WireTransfer> transfer_;
};

/// The lanes of one rank, from its first message in a group to the last. Plans follow each other,
/// and the lanes stay.
class MessageLanes {
 public:
  /// Counts in `sent`.
  explicit MessageLanes(std::shared_ptr<SentToRanks> sent) : sent_(std::move(sent)) {}
  MessageLanes(const MessageLanes&) = delete;
  MessageLanes& operator=(const MessageLanes&) = delete;

  /// The end of the lane to or from the route's rank with its tag. The same route gives the same
  /// one. REQUIRES: no operation runs.
  [[nodiscard]] TensorSender& To(const MessageRoute& route);
  [[nodiscard]] TensorReceiver& From(const MessageRoute& route);

  /// What was sent, and what was sent to one rank. For any thread.
  [[nodiscard]] const SentToRanks& sent() const { return *sent_; }
  [[nodiscard]] SentCounters& sent_to(int rank) { return sent_->at(rank); }

 private:
  using Key = std::pair<int, int>;  // Rank and tag.
  const std::shared_ptr<SentToRanks> sent_;
  std::map<Key, TensorSender> to_;
  std::map<Key, TensorReceiver> from_;
};

}  // namespace millrace::pipeline
