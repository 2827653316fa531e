// The head of a message between two ranks. It comes first, has a fixed size, and describes the
// tensors that follow it.
//
// A transport may end the process if a message is longer than the receiver's buffer. So a rank
// receives only what a head has announced, and only if the head agrees with the plan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// The form of a tensor in memory. The same sizes with other strides select other kernels, whose
/// results differ in the last bits. So strides travel, too.
struct TensorForm {
  /// The number of c10::ScalarType; -1: there is no tensor.
  int type = -1;
  /// Of each dimension, in elements.
  std::vector<std::int64_t> sizes = {};
  std::vector<std::int64_t> strides = {};

  /// The number of elements from the first one to the last one in memory, with the gaps between.
  [[nodiscard]] std::int64_t Extent() const;

  friend bool operator==(const TensorForm&, const TensorForm&) = default;
};

enum class MessageKind {
  kTensors,
  kInvalid,  ///< Gradients without ChannelGradients::valid: no tensors follow.
  kPause,    ///< From the leader: finish all samples, and exchange states. No tensors follow.
  kEnd,      ///< From the leader: the stream ends before the sample. No tensors follow.
  kSwitch,   ///< As kPause, and a task follows (rank_task.h), to continue with.
};

struct MessageHead {
  /// The run of the ranks that this message belongs to.
  std::int64_t epoch = 0;
  /// The sample's number in the stream.
  std::int64_t sample = 0;
  MessageKind kind = MessageKind::kTensors;
  /// Of an admitted sample: the factor on the learning rates of its updates.
  double rate_scale = 1;
  std::vector<TensorForm> tensors = {};

  friend bool operator==(const MessageHead&, const MessageHead&) = default;
};

/// 4 KiB: room for 56 tensors of four dimensions.
using EncodedHead = std::array<std::int64_t, 512>;

/// Fails with RESOURCE_EXHAUSTED if the tensors need more room.
[[nodiscard]] absl::StatusOr<EncodedHead> Encode(const MessageHead& head);

/// Fails with DATA_LOSS, saying what is wrong, if Encode() cannot have written it. So a number is
/// out of range, or a tensor extends over more than 2^34 elements.
[[nodiscard]] absl::StatusOr<MessageHead> DecodeHead(const EncodedHead& encoded);

}  // namespace millrace::pipeline
