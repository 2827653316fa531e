#include "pipeline/stages/admissions.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace millrace::pipeline {
namespace {

constexpr int kTag = 0;

MessageRoute RouteTo(int rank, const RankWires& ranks) {
  return {.wires = ranks.wires, .rank = rank, .tag = kTag, .epoch = ranks.epoch};
}

}  // namespace

AdmissionSender::AdmissionSender(const Plan& plan, const RankWires& ranks)
    : ranks_(ranks), reads_input_(ranks.rank_of_stage.front() + 1, false) {
  // A sample that has left this rank's slots has left those of the ranks before it.
  int slots = 1;
  for (const Channel& channel : plan.channels) {
    if (channel.from != 0) continue;
    reads_input_[ranks.rank_of_stage[channel.to - 1]] = true;
    if (plan.IsOwn(channel.to)) slots = std::max(slots, channel.slots);
  }
  max_under_way_ = slots * (reads_input_.size() - 1);
}

absl::Status AdmissionSender::WaitForOldest(std::size_t under_way) {
  for (; under_way_.size() > under_way; under_way_.pop_front()) {
    MILLRACE_RETURN_IF_ERROR(under_way_.front().Wait());
  }
  return absl::OkStatus();
}

absl::Status AdmissionSender::Send(std::int64_t sample, double rate_scale,
                                   const at::Tensor& input) {
  MILLRACE_RETURN_IF_ERROR(WaitForOldest(max_under_way_ - (reads_input_.size() - 1)));
  for (int rank = 1; rank < static_cast<int>(reads_input_.size()); ++rank) {
    TensorMessage message{.sample = sample, .rate_scale = rate_scale, .tensors = {}};
    if (reads_input_[rank]) message.tensors.push_back(input);
    under_way_.emplace_back(RouteTo(rank, ranks_), std::move(message));
  }
  return absl::OkStatus();
}

absl::Status AdmissionSender::Stop(MessageKind kind, std::int64_t next) {
  for (int rank = 1; rank < static_cast<int>(reads_input_.size()); ++rank) {
    under_way_.emplace_back(RouteTo(rank, ranks_),
                            TensorMessage{.sample = next, .kind = kind, .tensors = {}});
  }
  return WaitForOldest(0);
}

AdmissionReceiver::AdmissionReceiver(const RankWires& ranks)
    : route_(RouteTo(0, ranks)), next_(std::make_unique<IncomingMessage>(route_)) {}

absl::StatusOr<TensorMessage> AdmissionReceiver::Next() {
  MILLRACE_ASSIGN_OR_RETURN(TensorMessage message, next_->Wait());
  if (message.kind != MessageKind::kEnd) next_ = std::make_unique<IncomingMessage>(route_);
  return message;
}

}  // namespace millrace::pipeline
