// Tensors on their way between two ranks: a head (message_head.h), then the memory of all tensors
// as one transfer. Each transfer costs several system calls on both sides, so several tensors are
// copied together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/nn/layer.h"
#include "pipeline/wires/message_head.h"
#include "pipeline/wires/wires.h"

namespace millrace::pipeline {

/// The way of messages of one kind. Heads have the tag, tensors the next one.
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
  /// Begins to send, without waiting.
  OutgoingMessage(const MessageRoute& route, TensorMessage message);

  /// Waits until the tensors may be changed. Fails as WireTransfer::Wait(), and as Encode().
  [[nodiscard]] absl::Status Wait();

 private:
  // Transfers refer to the members before them.
  TensorMessage message_;
  std::unique_ptr<EncodedHead> head_;
  at::Tensor memory_;  // Of the message's tensors, if there are several.
  absl::Status encoded_;
  std::vector<std::unique_ptr<WireTransfer>> transfers_;
};

/// A message that is to be received. For one thread.
class IncomingMessage {
 public:
  /// Begins to receive the head, without waiting.
  explicit IncomingMessage(const MessageRoute& route);

  /// Waits for the whole message. The tensors have the sizes and strides of the sender's. Fails as
  /// WireTransfer::Wait(), and with DATA_LOSS if the head is damaged or of another epoch.
  [[nodiscard]] absl::StatusOr<TensorMessage> Wait();

  /// The same. Also fails with DATA_LOSS unless the message is for `sample`, and has `tensors`
  /// tensors or is kInvalid.
  [[nodiscard]] absl::StatusOr<TensorMessage> Wait(std::int64_t sample, int tensors);

 private:
  [[nodiscard]] absl::StatusOr<MessageHead> WaitForHead();
  [[nodiscard]] absl::StatusOr<TensorMessage> WaitForTensors(const MessageHead& head);

  const MessageRoute route_;
  std::unique_ptr<EncodedHead> head_;
  std::unique_ptr<WireTransfer> head_transfer_;
};

}  // namespace millrace::pipeline
