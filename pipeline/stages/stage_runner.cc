#include "pipeline/stages/stage_runner.h"

#include <map>
#include <optional>
#include <utility>

#include <ATen/core/grad_mode.h>

#include "base/check.h"
#include "pipeline/device/stage_devices.h"
#include "pipeline/ops/finite.h"
#include "pipeline/plan/stage_walk.h"
#include "pipeline/planner/partition.h"

namespace millrace::pipeline {

StageRunner::StageRunner(int number, const Parts& parts, RunningPlan& running_plan)
    : number_(number),
      parts_(parts),
      running_plan_(running_plan),
      work_({.number = number,
             .stage = parts.stage,
             .loss = OwnLoss(),
             .by_mini_batch = LearnsByMiniBatch(running_plan.plan),
             .seed = parts.seed}),
      camera_(work_.has_own_loss() ? &running_plan.channels.Between(0, number) : nullptr),
      versions_(parts.stage.parameters(), parts.captures && !parts.device.is_cpu()
                                              ? VersionsHeld(running_plan.plan, number)
                                              : running_plan.plan.rules(number).versions),
      only_updates_write_(parts.device.is_cpu() && versions_.held() == 1 &&
                          parts.stage.buffers().empty()),
      slots_(SlotCount(running_plan.plan)),
      contexts_(running_plan.plan.rules(number).slots) {
  Connect(parts.cuts);
  CaptureIfPossible();
}

// Null: it learns from the gradients of the stage behind.
Loss* StageRunner::OwnLoss() const {
  if (number_ == running_plan_.plan.stage_count()) return &parts_.loss;
  if (running_plan_.plan.rules(number_).gradient != GradientFrom::kOwnLoss) return nullptr;
  MILLRACE_CHECK(parts_.local_loss != nullptr);
  return parts_.local_loss;
}

void StageRunner::CaptureIfPossible() {
  if (!parts_.captures || parts_.device.is_cpu()) return;
  why_not_captured_ = WhyPlanIsNotCaptured(running_plan_.plan, number_);
  if (!why_not_captured_.empty()) return;
  if (!work_.is_the_same_each_time()) {
    why_not_captured_ = "its buffers move once a mini-batch, or its loss reads more than tensors";
  } else if (parts_.stage.parameters().empty()) {
    why_not_captured_ = "it has nothing to learn";
  } else if (auto pools = GraphedStage::NewPools(parts_.device); !pools.ok()) {
    why_not_captured_ = std::string(pools.status().message());
  } else {
    graphs_ = std::make_unique<GraphedStage>(GraphedStage::Options{.device = parts_.device,
                                                                   .slots = slots_,
                                                                   .work = work_,
                                                                   .optimizer = parts_.optimizer,
                                                                   .versions = versions_},
                                             *std::move(pools));
  }
}

std::string StageRunner::why_not_captured() const {
  return graphs_ != nullptr ? graphs_->why_eager() : why_not_captured_;
}

// A wire's place in its channel is the number of this stage's earlier wires in that channel. The
// stages at both ends go through their wires in the same order, so they agree.
void StageRunner::Connect(const Cuts& cuts) {
  std::map<ChannelRings*, int> used;
  const auto connect = [&](const Wire& wire) {
    ChannelRings& rings =
        running_plan_.channels.Between(StageOfLayer(cuts, wire.from), StageOfLayer(cuts, wire.to));
    return Connection{&rings, used[&rings]++};
  };
  for (const Wire& wire : parts_.stage.incoming()) incoming_.push_back(connect(wire));
  if (number_ == running_plan_.plan.stage_count()) return;
  for (const Wire& wire : parts_.stage.outgoing()) outgoing_.push_back(connect(wire));
  for (const Connection& connection : outgoing_) ++connection.rings->wires;
}

bool StageRunner::Run(const Step& step) {
  if (only_updates_write_ && step.kind != OperationKind::kUpdate) return Do(step);
  const StageParameterLock::Update lock(parts_.parameter_lock, parts_.device);
  return Do(step);
}

bool StageRunner::Do(const Step& step) {
  bool worked = true;
  switch (step.kind) {
    case OperationKind::kForward:
      for (std::int64_t sample = step.first; sample <= step.last; ++sample) Forward(sample);
      break;
    case OperationKind::kBackward:
      for (std::int64_t sample = step.last; sample >= step.first; --sample) {
        worked = Backward(sample) && worked;
      }
      break;
    case OperationKind::kUpdate:
      worked = Update();
      break;
  }
  return worked;
}

void StageRunner::DropGradients() {
  for (const at::Tensor& parameter : parts_.stage.parameters()) {
    parameter.mutable_grad() = at::Tensor();
  }
}

IncomingTensors StageRunner::InputsOf(std::int64_t sample) const {
  IncomingTensors inputs;
  for (const Connection& connection : incoming_) {
    const ChannelTensors& from = connection.rings->forward.Read(sample);
    inputs.push_back({.tensor = from.tensors[connection.place],
                      .stable_address = from.stable_address,
                      .requires_grad = connection.rings->carries_gradients});
  }
  return inputs;
}

IncomingTensor StageRunner::CameraOf(std::int64_t sample) const {
  if (camera_ == nullptr) return {};
  return {.tensor = camera_->forward.Read(sample).tensors[0]};
}

void StageRunner::Forward(std::int64_t sample) {
  ForwardContext context;
  Loss* const loss = OwnLoss();
  const bool may_learn = loss != nullptr && loss->MayLearn(InStream(sample));
  GoForward(sample, may_learn, context);
  Activations& activations = context.activations();
  Send(sample, activations.outputs, context.slot != nullptr);
  context.learns = may_learn && work_.OnPredicted(activations, InStream(sample));
  if (context.slot == nullptr) {
    activations.outputs.clear();
    activations.loss = {};
    if (loss != nullptr && !context.learns) activations.ends.clear();
  }
  contexts_.Write(sample, std::move(context));
}

void StageRunner::GoForward(std::int64_t sample, bool with_loss, ForwardContext& context) {
  const IncomingTensors inputs = InputsOf(sample);
  const IncomingTensor camera = CameraOf(sample);
  const bool keeps_graph = running_plan_.reads.keeps(number_, sample) == Keeps::kActivations;
  context.version =
      running_plan_.reads.Version(OperationKind::kForward, number_, sample, versions_.newest(), 0);
  if (graphs_ != nullptr) {
    context.slot = graphs_->Forward({.slot = sample % slots_,
                                     .sample = InStream(sample),
                                     .keeps_graph = keeps_graph,
                                     .version = context.version},
                                    inputs, camera);
    if (context.slot != nullptr) return;
  }
  for (const IncomingTensor& input : inputs) {
    context.own.inputs.push_back(Brought(input.tensor, parts_.device).detach());
    context.own.inputs.back().set_requires_grad(input.requires_grad);
  }
  if (camera.tensor.defined()) context.own.camera = Brought(camera.tensor, parts_.device);
  const WeightVersions::Use use(versions_, context.version);
  const at::AutoGradMode graph(keeps_graph);
  work_.GoForward(context.own, InStream(sample), with_loss);
  if (!keeps_graph) context.own.ends.clear();
}

void StageRunner::Send(std::int64_t sample, const Tensors& outputs, bool stable_address) {
  for (const auto& rings : running_plan_.channels.all()) {
    if (rings->channel.from != number_) continue;
    rings->forward.Write(sample,
                         {.tensors = Tensors(rings->wires), .stable_address = stable_address});
  }
  for (std::size_t i = 0; i < outgoing_.size(); ++i) {
    outgoing_[i].rings->forward.Read(sample).tensors[outgoing_[i].place] = outputs[i].detach();
  }
}

StageRunner::EndGradients StageRunner::GradientsOf(std::int64_t sample) const {
  EndGradients gradients;
  for (const Connection& connection : outgoing_) {
    ChannelRings& rings = *connection.rings;
    const ChannelGradients& incoming = rings.backward.Read(
        running_plan_.dependencies.Position(OperationKind::kBackward, rings.channel.to, sample));
    gradients.valid = gradients.valid && incoming.valid;
    if (!gradients.valid) break;
    gradients.tensors.push_back({.tensor = incoming.of.tensors[connection.place],
                                 .stable_address = incoming.of.stable_address});
  }
  return gradients;
}

bool StageRunner::Backward(std::int64_t sample) {
  const std::int64_t used = sample + running_plan_.plan.rules(number_).lead;
  ForwardContext& context = contexts_.Read(used);
  EndGradients gradients;
  if (work_.has_own_loss()) {
    gradients.valid = context.learns;
  } else {
    gradients = GradientsOf(sample);
  }
  std::optional<InputGradients> sent;
  if (gradients.valid) sent = GoBackward(used, sample, gradients.tensors);
  const bool worked = sent.has_value();
  has_gradient_ = has_gradient_ || worked;
  if (worked && parts_.device.is_cpu() && !AllFinite(sent->tensors)) {
    sent.reset();
    ++parts_.not_finite;
  }
  SendBack(sample, sent);
  context = {};  // The backward has consumed the graph.
  return worked;
}

std::optional<StageRunner::InputGradients> StageRunner::GoBackward(
    std::int64_t used, std::int64_t sample, const IncomingTensors& gradients) {
  ForwardContext& context = contexts_.Read(used);
  const std::int64_t version = running_plan_.reads.Version(
      OperationKind::kBackward, number_, sample, versions_.newest(), context.version);
  if (context.slot != nullptr) {
    const Tensors* const launched = graphs_->Backward(
        *context.slot, {.slot = used % slots_, .sample = InStream(used), .version = version},
        gradients);
    if (launched != nullptr) return InputGradients{.tensors = *launched, .stable_address = true};
  }
  const WeightVersions::Use use(versions_, version);
  return GoBackwardByOperators(used, sample, gradients);
}

std::optional<StageRunner::InputGradients> StageRunner::GoBackwardByOperators(
    std::int64_t used, std::int64_t sample, const IncomingTensors& incoming) {
  ForwardContext& context = contexts_.Read(used);
  std::optional<StageBuffers::Unmoved> unmoved;
  Activations* activations = &context.activations();
  bool keeps_graph = context.slot != nullptr;
  Activations again;
  if (running_plan_.reads.keeps(number_, sample) == Keeps::kInputs) {
    unmoved.emplace(work_.buffers());
    again = {.inputs = activations->inputs, .camera = activations->camera};
    work_.GoForwardAgain(again, InStream(used));
    activations = &again;
    keeps_graph = false;
  }
  const bool has_end = !work_.has_own_loss() || activations->ends[0].defined();
  if (!has_end ||
      (work_.has_own_loss() && parts_.device.is_cpu() && !AllFinite(activations->ends))) {
    return std::nullopt;
  }
  Tensors gradients;
  for (const IncomingTensor& gradient : incoming) {
    gradients.push_back(Brought(gradient.tensor, parts_.device));
  }
  return InputGradients{.tensors = work_.GoBackward(*activations, gradients, keeps_graph)};
}

void StageRunner::SendBack(std::int64_t sample, const std::optional<InputGradients>& sent) {
  const std::int64_t position =
      running_plan_.dependencies.Position(OperationKind::kBackward, number_, sample);
  for (const auto& rings : running_plan_.channels.all()) {
    if (rings->channel.to != number_ || !rings->carries_gradients) continue;
    ChannelGradients gradients{.valid = sent.has_value()};
    gradients.of = {.tensors = Tensors(rings->wires),
                    .stable_address = sent && sent->stable_address};
    rings->backward.Write(position, std::move(gradients));
  }
  if (!sent) return;
  const auto* next = sent->tensors.begin();
  for (const Connection& connection : incoming_) {
    if (!connection.rings->carries_gradients) continue;
    connection.rings->backward.Read(position).of.tensors[connection.place] = *next++;
  }
}

bool StageRunner::Update() {
  versions_.Advance();
  work_.buffers().Commit();
  const bool has_gradient = std::exchange(has_gradient_, false);
  parts_.optimizer.set_rate_scale(parts_.rate_scale);
  if (has_gradient && graphs_ != nullptr) {
    graphs_->Update();
    return true;
  }
  versions_.Fill();
  const bool updated = has_gradient && parts_.optimizer.Step();
  if (has_gradient && !updated) ++parts_.not_finite;
  return updated;
}

}  // namespace millrace::pipeline
