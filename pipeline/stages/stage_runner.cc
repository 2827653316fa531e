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
      splits_backward_(running_plan.plan.rules(number).splits_backward),
      slots_(SlotCount(running_plan.plan)),
      contexts_(running_plan.plan.rules(number).slots) {
  Connect(parts.cuts);
  CaptureIfPossible();
}

// Null: it learns from the gradients of the stage behind.
Loss* StageRunner::OwnLoss() const {
  if (number_ == running_plan_.plan.stage_count()) return parts_.loss;
  if (running_plan_.plan.rules(number_).gradient != GradientFrom::kOwnLoss) return nullptr;
  MILLRACE_CHECK(parts_.local_loss != nullptr);
  return parts_.local_loss;
}

void StageRunner::CaptureIfPossible() {
  if (!parts_.captures || parts_.device.is_cpu()) return;
  why_not_captured_ = WhyPlanIsNotCaptured(running_plan_.plan, number_);
  if (!why_not_captured_.empty()) return;
  if (!parts_.stage.capturable()) return;  // By nature: there is nothing to mend.
  if (!work_.capturable()) {
    why_not_captured_ = "its buffers move once a mini-batch, or its loss reads more than tensors";
  } else if (parts_.stage.parameters().empty()) {
    why_not_captured_ = "it has nothing to learn";
  } else if (auto pools = GraphedStage::NewPools(parts_.device, running_plan_.plan); !pools.ok()) {
    why_not_captured_ = std::string(pools.status().message());
  } else {
    graphs_ =
        std::make_unique<GraphedStage>(GraphedStage::Options{.device = parts_.device,
                                                             .slots = slots_,
                                                             .work = work_,
                                                             .optimizer = parts_.optimizer,
                                                             .versions = versions_,
                                                             .splits_backward = splits_backward_},
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

void StageRunner::Forward(const Step& step) {
  std::optional<StageParameterLock::Update> lock;
  if (!only_updates_write_) lock.emplace(parts_.parameter_lock, parts_.device);
  for (std::int64_t sample = step.first; sample <= step.last; ++sample) {
    ForwardContext context = BeginForward(sample);
    if (context.slot == nullptr) {
      const WeightVersions::Use use(versions_, context.version);
      const at::AutoGradMode graph(context.keeps_graph);
      work_.Forward(context.own, InStream(sample), context.may_learn);
    }
    EndForward(sample, std::move(context));
  }
}

StageRunner::ForwardContext StageRunner::BeginForward(std::int64_t sample) {
  ForwardContext context;
  Loss* const loss = OwnLoss();
  context.may_learn = loss != nullptr && loss->MayLearn(InStream(sample));
  context.keeps_graph = running_plan_.reads.keeps(number_, sample) == Keeps::kActivations;
  context.version =
      running_plan_.reads.Version(OperationKind::kForward, number_, sample, versions_.newest(), 0);
  const IncomingTensors inputs = InputsOf(sample);
  const IncomingTensor camera = CameraOf(sample);
  if (graphs_ != nullptr) {
    context.slot = graphs_->Forward({.slot = sample % slots_,
                                     .sample = InStream(sample),
                                     .keeps_graph = context.keeps_graph,
                                     .version = context.version},
                                    inputs, camera);
    if (context.slot != nullptr) return context;
  }
  for (const IncomingTensor& input : inputs) {
    context.own.inputs.push_back(ToDevice(input.tensor, parts_.device).detach());
    context.own.inputs.back().set_requires_grad(input.requires_grad);
  }
  if (camera.tensor.defined()) context.own.camera = ToDevice(camera.tensor, parts_.device);
  return context;
}

void StageRunner::EndForward(std::int64_t sample, ForwardContext context) {
  Activations& activations = context.activations();
  Send(sample, activations.outputs, context.slot != nullptr);
  context.learns = context.may_learn && work_.OnPredicted(activations, InStream(sample));
  if (context.slot == nullptr) {
    activations.outputs.clear();
    activations.loss = {};
    const bool teaches = !work_.has_own_loss() || context.learns;
    if (!context.keeps_graph || !teaches) activations.ends.clear();
  }
  contexts_.Write(sample, std::move(context));
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

bool StageRunner::Backward(const Step& step) {
  std::optional<StageParameterLock::Update> lock;
  if (!only_updates_write_) lock.emplace(parts_.parameter_lock, parts_.device);
  bool worked = true;
  for (std::int64_t sample = step.last; sample >= step.first; --sample) {
    ForwardContext& context = contexts_.Read(sample + running_plan_.plan.rules(number_).lead);
    context.worked = EndBackward(sample, BackwardOf(sample, context));
    worked = context.worked && worked;
    // The backward has consumed the graph.
    if (splits_backward_) {
      context.own = {};
    } else {
      context = {};
    }
  }
  return worked;
}

std::optional<StageRunner::InputGradients> StageRunner::BackwardOf(std::int64_t sample,
                                                                   ForwardContext& context) {
  const std::int64_t used = sample + running_plan_.plan.rules(number_).lead;
  const EndGradients ends = GradientsOf(sample, context);
  const std::int64_t version = running_plan_.reads.Version(
      OperationKind::kBackward, number_, sample, versions_.newest(), context.version);
  std::optional<InputGradients> gradients = LaunchBackward(
      context, {.slot = used % slots_, .sample = InStream(used), .version = version}, ends);
  context.was_launched = gradients.has_value();
  if (!ends.valid || gradients) return gradients;
  const WeightVersions::Use use(versions_, version);
  const WeightGradients::Scope scope(splits_backward_ ? &context.left : nullptr);
  if (running_plan_.reads.keeps(number_, sample) == Keeps::kActivations) {
    return RunBackward(context.activations(), ends, context.slot != nullptr);
  }
  const StageBuffers::Unmoved unmoved(work_.buffers());
  Activations repeated{.inputs = context.activations().inputs,
                       .camera = context.activations().camera};
  work_.RepeatForward(repeated, InStream(used));
  return RunBackward(repeated, ends, /*keep_graph=*/false);
}

bool StageRunner::WeightGradient(const Step& step) {
  bool worked = true;
  for (std::int64_t sample = step.last; sample >= step.first; --sample) {
    ForwardContext& context = contexts_.Read(sample + running_plan_.plan.rules(number_).lead);
    if (context.was_launched) {
      graphs_->WeightGradient(*context.slot,
                              (sample + running_plan_.plan.rules(number_).lead) % slots_);
    } else {
      context.left.AddToParameters();
    }
    worked = context.worked && worked;
    context = {};
  }
  return worked;
}

StageRunner::EndGradients StageRunner::GradientsOf(std::int64_t sample,
                                                   const ForwardContext& context) const {
  EndGradients gradients;
  if (work_.has_own_loss()) {
    gradients.valid = context.learns;
    return gradients;
  }
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

std::optional<StageRunner::InputGradients> StageRunner::LaunchBackward(
    const ForwardContext& context, const SampleOperation& operation,
    const EndGradients& gradients) {
  if (context.slot == nullptr || !gradients.valid) return std::nullopt;
  const Tensors* const launched = graphs_->Backward(*context.slot, operation, gradients.tensors);
  if (launched == nullptr) return std::nullopt;
  return InputGradients{.tensors = *launched, .stable_address = true};
}

std::optional<StageRunner::InputGradients> StageRunner::RunBackward(Activations& activations,
                                                                    const EndGradients& gradients,
                                                                    bool keep_graph) {
  const bool own = work_.has_own_loss();
  const bool has_end = !own || activations.ends[0].defined();
  if (!has_end || (own && parts_.device.is_cpu() && !AllFinite(activations.ends))) {
    return std::nullopt;
  }
  Tensors of_ends;
  for (const IncomingTensor& gradient : gradients.tensors) {
    of_ends.push_back(ToDevice(gradient.tensor, parts_.device));
  }
  return InputGradients{.tensors = work_.Backward(activations, of_ends, keep_graph)};
}

bool StageRunner::EndBackward(std::int64_t sample, std::optional<InputGradients> gradients) {
  const bool worked = gradients.has_value();
  has_gradient_ = has_gradient_ || worked;
  if (worked && parts_.device.is_cpu() && !AllFinite(gradients->tensors)) {
    gradients.reset();
    ++parts_.not_finite;
  }
  SendBack(sample, gradients);
  return worked;
}

void StageRunner::SendBack(std::int64_t sample, const std::optional<InputGradients>& gradients) {
  const std::int64_t position =
      running_plan_.dependencies.Position(OperationKind::kBackward, number_, sample);
  for (const auto& rings : running_plan_.channels.all()) {
    if (rings->channel.to != number_ || !rings->carries_gradients) continue;
    rings->backward.Write(position,
                          {.of = {.tensors = Tensors(rings->wires),
                                  .stable_address = gradients && gradients->stable_address},
                           .valid = gradients.has_value()});
  }
  if (!gradients) return;
  const auto* next = gradients->tensors.begin();
  for (const Connection& connection : incoming_) {
    if (!connection.rings->carries_gradients) continue;
    connection.rings->backward.Read(position).of.tensors[connection.place] = *next++;
  }
}

bool StageRunner::Update(double rate_scale) {
  const StageParameterLock::Update lock(parts_.parameter_lock, parts_.device);
  versions_.Advance();
  work_.buffers().Commit();
  const bool has_gradient = std::exchange(has_gradient_, false);
  parts_.optimizer.set_rate_scale(rate_scale);
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
