// Tensors on their way between two ranks: a head (message_head.h), then the memory of all tensors.
//
// Most messages of a route are as long as the one before. So the receiver begins to receive the
// next one before it is sent, head and tensors as one transfer. Then the sender does not wait, and
// each side needs few system calls. If the length differs, the sender sends only the head, and the
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
#include "pipeline/wires/message_head.h"
#include "pipeline/wires/wires.h"

namespace millrace::pipeline {

/// The bytes that a rank has sent to each other one.
using SentToRanks = std::vector<std::atomic<std::int64_t>>;

/// The way of messages of one kind, a route. Messages have the tag, tensors apart the next one.
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

/// The sending end of a route. For one thread at a time.
class TensorSender {
 public:
  /// Counts in `sent`, which outlives it.
  TensorSender(const MessageRoute& route, std::atomic<std::int64_t>& sent)
      : route_(route), sent_(sent) {}

  /// Begins to send, without waiting. The tensors may be changed afterwards.
  [[nodiscard]] OutgoingMessage Send(const TensorMessage& message);

 private:
  const MessageRoute route_;
  std::atomic<std::int64_t>& sent_;  // Bytes.
  std::int64_t usual_bytes_ = 0;     // Of the tensors of the last message that had any.
};

/// The receiving end of a route. For one thread at a time.
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

/// The routes of one rank, from its first message in a group to the last. Plans follow each other,
/// and the routes stay.
class MessageRoutes {
 public:
  /// Counts in `sent`.
  explicit MessageRoutes(std::shared_ptr<SentToRanks> sent) : sent_(std::move(sent)) {}
  MessageRoutes(const MessageRoutes&) = delete;
  MessageRoutes& operator=(const MessageRoutes&) = delete;

  /// The end of the route to or from the route's rank with its tag. The same route gives the same
  /// one. REQUIRES: no operation runs.
  [[nodiscard]] TensorSender& To(const MessageRoute& route);
  [[nodiscard]] TensorReceiver& From(const MessageRoute& route);

  /// For any thread.
  [[nodiscard]] const SentToRanks& sent() const { return *sent_; }

 private:
  using Key = std::pair<int, int>;  // Rank and tag.
  const std::shared_ptr<SentToRanks> sent_;
  std::map<Key, TensorSender> to_;
  std::map<Key, TensorReceiver> from_;
};

}  // namespace millrace::pipeline
