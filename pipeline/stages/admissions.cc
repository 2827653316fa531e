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

absl::Status AdmissionSender::Send(std::int64_t sample, const at::Tensor& input) {
  MILLRACE_RETURN_IF_ERROR(WaitForOldest(max_under_way_ - (reads_input_.size() - 1)));
  for (int rank = 1; rank < static_cast<int>(reads_input_.size()); ++rank) {
    TensorMessage message{.sample = sample};
    if (reads_input_[rank]) message.tensors.push_back(input);
    under_way_.emplace_back(RouteTo(rank, ranks_), std::move(message));
  }
  return absl::OkStatus();
}

absl::Status AdmissionSender::End(std::int64_t end) {
  for (int rank = 1; rank < static_cast<int>(reads_input_.size()); ++rank) {
    under_way_.emplace_back(RouteTo(rank, ranks_), TensorMessage{.sample = end, .valid = false});
  }
  return WaitForOldest(0);
}

AdmissionReceiver::AdmissionReceiver(const RankWires& ranks)
    : route_(RouteTo(0, ranks)), next_(std::in_place, route_) {}

absl::StatusOr<std::optional<AdmissionReceiver::Admitted>> AdmissionReceiver::Next() {
  MILLRACE_ASSIGN_OR_RETURN(const TensorMessage message, next_->Wait());
  if (!message.valid) return std::nullopt;
  next_.emplace(route_);
  Admitted admitted{.sample = message.sample, .input = {}};
  if (!message.tensors.empty()) admitted.input = message.tensors[0];
  return admitted;
}

}  // namespace millrace::pipeline
