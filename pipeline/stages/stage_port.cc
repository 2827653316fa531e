#include "pipeline/stages/stage_port.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "pipeline/engine/step_error.h"

namespace millrace::pipeline {

// The order is the same on both ranks. Forwards go from the first sample to the last, backwards
// from the last to the first. The items of one sample are in the order of the channels.
std::vector<StagePort::Item> StagePort::ItemsOf(const Step& step) const {
  const bool forward = step.kind == OperationKind::kForward;
  std::vector<Item> items;
  for (std::int64_t i = 0; i < step.samples(); ++i) {
    const std::int64_t sample = forward ? step.first + i : step.last - i;
    for (const auto& rings : running_plan_.channels.all()) {
      const Channel& channel = rings->channel;
      const bool touches = channel.from == number_ || channel.to == number_;
      const bool carries = forward || rings->carries_gradients;
      if (!touches || !carries || channel.from == 0) continue;
      if (!running_plan_.plan.IsOwn(channel)) continue;
      items.push_back({.rings = rings.get(), .sample = sample});
    }
  }
  return items;
}

MessageRoute StagePort::RouteOf(const Item& item, OperationKind kind) const {
  const auto& all = running_plan_.channels.all();
  const auto place = std::ranges::find(all, item.rings, [](const auto& one) { return one.get(); });
  const int index =
      static_cast<int>(place - all.begin()) * 2 + (kind == OperationKind::kForward ? 0 : 1);
  return {.wires = ranks_.wires,
          .rank = ranks_.rank_of_stage.at(number_ - 1),
          .tag = RankWires::kFirstTag + index * MessageRoute::kTags,
          .epoch = ranks_.epoch};
}

std::int64_t StagePort::GradientPosition(const Item& item) const {
  return running_plan_.dependencies.Position(OperationKind::kBackward, item.rings->channel.to,
                                             item.sample);
}

TensorMessage StagePort::Outgoing(const Item& item, OperationKind kind) const {
  TensorMessage message{.sample = running_plan_.first_sample + item.sample};
  if (kind == OperationKind::kForward) {
    message.tensors = item.rings->forward.Read(item.sample).tensors;
    return message;
  }
  const ChannelGradients& gradients = item.rings->backward.Read(GradientPosition(item));
  if (!gradients.valid) message.kind = MessageKind::kInvalid;
  message.tensors = gradients.of.tensors;
  return message;
}

void StagePort::Write(const Item& item, OperationKind kind, TensorMessage message) {
  if (kind == OperationKind::kForward) {
    item.rings->forward.Write(item.sample, {.tensors = std::move(message.tensors)});
    return;
  }
  item.rings->backward.Write(GradientPosition(item),
                             {.of = {.tensors = std::move(message.tensors)},
                              .valid = message.kind == MessageKind::kTensors});
}

absl::Status StagePort::Send(const std::vector<Item>& items, OperationKind kind) const {
  std::deque<OutgoingMessage> messages;
  for (const Item& item : items) {
    // At the end of the stream, some stages have made no gradient of a sample, others have.
    const bool is_made =
        kind == OperationKind::kForward || item.rings->backward.Holds(GradientPosition(item));
    if (is_made) messages.emplace_back(RouteOf(item, kind), Outgoing(item, kind));
  }
  for (OutgoingMessage& message : messages) MILLRACE_RETURN_IF_ERROR(message.Wait());
  return absl::OkStatus();
}

absl::Status StagePort::Receive(const std::vector<Item>& items, OperationKind kind) {
  std::deque<IncomingMessage> messages;
  for (const Item& item : items) messages.emplace_back(RouteOf(item, kind));
  for (std::size_t i = 0; i < items.size(); ++i) {
    MILLRACE_ASSIGN_OR_RETURN(
        TensorMessage message,
        messages[i].Wait(running_plan_.first_sample + items[i].sample, items[i].rings->wires));
    Write(items[i], kind, std::move(message));
  }
  return absl::OkStatus();
}

void StagePort::Run(const Step& step) {
  const bool forward = step.kind == OperationKind::kForward;
  if (!forward && step.kind != OperationKind::kBackward) return;
  const std::vector<Item> items = ItemsOf(step);
  const StageRank rank = running_plan_.plan.rules(number_).rank;
  MILLRACE_CHECK(rank != StageRank::kOwn);
  const bool sends = forward == (rank == StageRank::kLater);
  const absl::Status carried = sends ? Send(items, step.kind) : Receive(items, step.kind);
  if (!carried.ok()) throw StepError(carried);
}

}  // namespace millrace::pipeline
