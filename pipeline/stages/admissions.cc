#include "pipeline/stages/admissions.h"

#include <algorithm>

#include "base/status.h"

namespace millrace::pipeline {
namespace {

constexpr int kTag = 0;

MessageRoute RouteTo(int rank, const RankWires& ranks) {
  return {.wires = ranks.wires, .rank = rank, .tag = kTag, .epoch = ranks.epoch};
}

}  // namespace

AdmissionSender::AdmissionSender(const Plan& plan, const RankWires& ranks, MessageRoutes& routes) {
  for (int rank = 1; rank <= ranks.rank_of_stage.front(); ++rank) {
    readers_.push_back({.route = &routes.To(RouteTo(rank, ranks)), .reads_input = false});
  }
  // A sample that has left this rank's slots has left those of the ranks before it.
  int slots = 1;
  for (const Channel& channel : plan.channels) {
    if (channel.from != 0) continue;
    const int rank = ranks.rank_of_stage[channel.to - 1];
    if (rank > 0) readers_[rank - 1].reads_input = true;
    if (plan.IsOwn(channel.to)) slots = std::max(slots, channel.slots);
  }
  max_under_way_ = slots * readers_.size();
}

absl::Status AdmissionSender::WaitForOldest(std::size_t under_way) {
  for (; under_way_.size() > under_way; under_way_.pop_front()) {
    MILLRACE_RETURN_IF_ERROR(under_way_.front().Wait());
  }
  return absl::OkStatus();
}

absl::Status AdmissionSender::Send(std::int64_t sample, double rate_scale,
                                   const at::Tensor& input) {
  MILLRACE_RETURN_IF_ERROR(WaitForOldest(max_under_way_ - readers_.size()));
  for (const Reader& reader : readers_) {
    TensorMessage message{.sample = sample, .rate_scale = rate_scale, .tensors = {}};
    if (reader.reads_input) message.tensors.push_back(input);
    under_way_.push_back(reader.route->Send(message));
  }
  return absl::OkStatus();
}

absl::Status AdmissionSender::Stop(MessageKind kind, std::int64_t next) {
  for (const Reader& reader : readers_) {
    under_way_.push_back(reader.route->Send({.sample = next, .kind = kind, .tensors = {}}));
  }
  return WaitForOldest(0);
}

AdmissionReceiver::AdmissionReceiver(const RankWires& ranks) : receiver_(RouteTo(0, ranks)) {}

}  // namespace millrace::pipeline
