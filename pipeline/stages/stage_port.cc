#include "pipeline/stages/stage_port.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "pipeline/engine/step_error.h"

namespace millrace::pipeline {

StagePort::StagePort(int number, const RankWires& ranks, MessageRoutes& routes,
                     RunningPlan& running_plan)
    : number_(number), running_plan_(running_plan) {
  int tag = RankWires::kFirstTag;  // Of the channel, on both ranks.
  for (const auto& rings : running_plan_.channels.all()) {
    const Channel& channel = rings->channel;
    const int forwards = std::exchange(tag, tag + 2 * MessageRoute::kTags);
    const bool touches = channel.from == number_ || channel.to == number_;
    if (!touches || channel.from == 0 || !running_plan_.plan.IsOwn(channel)) continue;
    MessageRoute route{.wires = ranks.wires,
                       .rank = ranks.rank_of_stage.at(number_ - 1),
                       .tag = forwards,
                       .epoch = ranks.epoch};
    Way& way = ways_.emplace_back(Way{.rings = rings.get()});
    for (const OperationKind kind : {OperationKind::kForward, OperationKind::kBackward}) {
      if (kind == OperationKind::kBackward && !rings->carries_gradients) continue;
      if (Sends(kind)) {
        way.out = &routes.To(route);
      } else {
        way.in = &routes.From(route);
      }
      route.tag += MessageRoute::kTags;
    }
  }
}

bool StagePort::Sends(OperationKind kind) const {
  const StageRank rank = running_plan_.plan.rules(number_).rank;
  MILLRACE_CHECK(rank != StageRank::kOwn);
  return (kind == OperationKind::kForward) == (rank == StageRank::kLater);
}

// The order is the same on both ranks. Forwards go from the first sample to the last, backwards
// from the last to the first. The items of one sample are in the order of the channels.
std::vector<StagePort::Item> StagePort::ItemsOf(const Step& step) const {
  const bool forward = step.kind == OperationKind::kForward;
  std::vector<Item> items;
  for (std::int64_t i = 0; i < step.samples(); ++i) {
    const std::int64_t sample = forward ? step.first + i : step.last - i;
    for (const Way& way : ways_) {
      if (forward || way.rings->carries_gradients) items.push_back({&way, sample});
    }
  }
  return items;
}

std::int64_t StagePort::GradientPosition(const Item& item) const {
  return running_plan_.dependencies.Position(OperationKind::kBackward, item.way->rings->channel.to,
                                             item.sample);
}

TensorMessage StagePort::Outgoing(const Item& item, OperationKind kind) const {
  TensorMessage message{.sample = running_plan_.first_sample + item.sample};
  if (kind == OperationKind::kForward) {
    message.tensors = item.way->rings->forward.Read(item.sample).tensors;
    return message;
  }
  const ChannelGradients& gradients = item.way->rings->backward.Read(GradientPosition(item));
  if (!gradients.valid) message.kind = MessageKind::kInvalid;
  message.tensors = gradients.of.tensors;
  return message;
}

void StagePort::Write(const Item& item, OperationKind kind, TensorMessage message) const {
  if (kind == OperationKind::kForward) {
    item.way->rings->forward.Write(item.sample, {.tensors = std::move(message.tensors)});
    return;
  }
  item.way->rings->backward.Write(GradientPosition(item),
                                  {.of = {.tensors = std::move(message.tensors)},
                                   .valid = message.kind == MessageKind::kTensors});
}

absl::Status StagePort::Send(const std::vector<Item>& items, OperationKind kind) const {
  std::deque<OutgoingMessage> messages;
  for (const Item& item : items) {
    // At the end of the stream, some stages have made no gradient of a sample, others have.
    const bool is_made =
        kind == OperationKind::kForward || item.way->rings->backward.Holds(GradientPosition(item));
    if (is_made) messages.push_back(item.way->out->Send(Outgoing(item, kind)));
  }
  for (OutgoingMessage& message : messages) MILLRACE_RETURN_IF_ERROR(message.Wait());
  return absl::OkStatus();
}

absl::Status StagePort::Receive(const std::vector<Item>& items, OperationKind kind) const {
  for (const Item& item : items) {
    MILLRACE_ASSIGN_OR_RETURN(
        TensorMessage message,
        item.way->in->Next(running_plan_.first_sample + item.sample, item.way->rings->wires));
    Write(item, kind, std::move(message));
  }
  return absl::OkStatus();
}

void StagePort::Run(const Step& step) const {
  if (step.kind != OperationKind::kForward && step.kind != OperationKind::kBackward) return;
  const std::vector<Item> items = ItemsOf(step);
  const absl::Status carried =
      Sends(step.kind) ? Send(items, step.kind) : Receive(items, step.kind);
  if (!carried.ok()) throw StepError(carried);
}

}  // namespace millrace::pipeline
