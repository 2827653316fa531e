#include "pipeline/stage_runner.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include "base/check.h"
#include "pipeline/finite.h"
#include "pipeline/seeded_draws.h"
#include "pipeline/stage_devices.h"
#include "pipeline/stage_walk.h"

namespace millrace::pipeline {

StageRunner::StageRunner(int number, const Parts& parts, PlanAtWork& at_work)
    : number_(number),
      parts_(parts),
      at_work_(at_work),
      has_own_loss_(number == at_work.plan.stage_count() ||
                    at_work.plan.rules(number).gradient == GradientFrom::kOwnLoss),
      camera_(has_own_loss_ ? &at_work.channels.Between(0, number) : nullptr),
      versions_(parts.stage.parameters(), at_work.plan.rules(number).versions),
      buffers_(parts.stage, LearnsByMiniBatch(at_work.plan)),
      kept_(at_work.plan.rules(number).slots) {
  MILLRACE_CHECK(!has_own_loss_ || number == at_work.plan.stage_count() ||
                 parts.local_objective != nullptr);
  Connect(parts.cuts);
}

// A wire's place in its channel is the number of the stage's wires that the channel carries
// already. The stages at both ends go through their wires in the same order, so they agree.
void StageRunner::Connect(const Cuts& cuts) {
  std::map<ChannelRings*, int> used;
  const auto connect = [&](const Wire& wire) {
    ChannelRings& rings =
        at_work_.channels.Between(StageOfLayer(cuts, wire.from), StageOfLayer(cuts, wire.to));
    return Connection{&rings, used[&rings]++};
  };
  for (const Wire& wire : parts_.stage.incoming()) incoming_.push_back(connect(wire));
  if (number_ == at_work_.plan.stage_count()) return;
  for (const Wire& wire : parts_.stage.outgoing()) outgoing_.push_back(connect(wire));
  for (const Connection& connection : outgoing_) ++connection.rings->wires;
}

at::Tensor StageRunner::Here(const at::Tensor& tensor) const {
  return Brought(tensor, parts_.device);
}

bool StageRunner::Run(const Step& step) {
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

void StageRunner::Forward(std::int64_t sample) {
  Kept kept;
  for (const Connection& connection : incoming_) {
    at::Tensor leaf = Here(connection.rings->forward.Read(sample)[connection.place]).detach();
    leaf.set_requires_grad(connection.rings->carries_gradients);
    kept.inputs.push_back(std::move(leaf));
  }
  const bool keeps_graph = at_work_.reads.keeps(number_, sample) == Keeps::kActivations;
  kept.version =
      at_work_.reads.Version(OperationKind::kForward, number_, sample, versions_.newest(), 0);
  Tensors outputs;
  {
    const WeightVersions::Use use(versions_, kept.version);
    const at::AutoGradMode graph(keeps_graph);
    outputs = buffers_.First([&] { return parts_.stage.Forward(kept.inputs, SeedOf(sample)); });
    kept.ends = outputs;
    if (has_own_loss_) {
      kept.camera = Here(camera_->forward.Read(sample)[0]);
      kept.ends = {OwnLoss(sample, kept.camera, outputs[0], /*again=*/false)};
    }
  }
  if (!keeps_graph) kept.ends.clear();
  Send(sample, outputs);
  kept_.Write(sample, std::move(kept));
}

at::Tensor StageRunner::OwnLoss(std::int64_t sample, const at::Tensor& camera,
                                const at::Tensor& output, bool again) const {
  const std::int64_t in_stream = at_work_.first_sample + sample;
  if (number_ < at_work_.plan.stage_count()) {
    return parts_.local_objective(number_, in_stream, camera, output);
  }
  return parts_.judge({.sample = in_stream, .input = camera, .output = output, .again = again});
}

void StageRunner::Send(std::int64_t sample, const Tensors& outputs) {
  for (const auto& rings : at_work_.channels.all()) {
    if (rings->channel.from != number_) continue;
    rings->forward.Write(sample, Tensors(rings->wires));
  }
  for (std::size_t i = 0; i < outgoing_.size(); ++i) {
    outgoing_[i].rings->forward.Read(sample)[outgoing_[i].place] = outputs[i].detach();
  }
}

bool StageRunner::Backward(std::int64_t sample) {
  const std::int64_t used = sample + at_work_.plan.rules(number_).lead;
  Kept& kept = kept_.Read(used);
  bool real = false;
  {
    const WeightVersions::Use use(versions_,
                                  at_work_.reads.Version(OperationKind::kBackward, number_, sample,
                                                         versions_.newest(), kept.version));
    std::optional<StageBuffers::Unmoved> unmoved;
    if (at_work_.reads.keeps(number_, sample) == Keeps::kInputs) {
      unmoved.emplace(buffers_);
      GoForwardAgain(used, kept);
    }
    real = GoBackward(sample, kept);
  }
  has_gradient_ = has_gradient_ || real;
  SendBack(sample, kept, real);
  kept = {};  // The graph is spent.
  return real;
}

// The same for a forward that is run again, and for every way to cut the network.
std::uint64_t StageRunner::SeedOf(std::int64_t sample) const {
  return MixSeeds(parts_.seed, static_cast<std::uint64_t>(at_work_.first_sample + sample));
}

void StageRunner::GoForwardAgain(std::int64_t sample, Kept& kept) const {
  kept.ends = parts_.stage.Forward(kept.inputs, SeedOf(sample));
  if (has_own_loss_) kept.ends = {OwnLoss(sample, kept.camera, kept.ends[0], /*again=*/true)};
}

bool StageRunner::GoBackward(std::int64_t sample, const Kept& kept) {
  Tensors gradients;
  bool real = true;
  if (has_own_loss_) {
    real = kept.ends[0].defined() && (!parts_.device.is_cpu() || AllFinite(kept.ends));
    gradients.resize(kept.ends.size());
  } else {
    for (const Connection& connection : outgoing_) {
      ChannelRings& rings = *connection.rings;
      const ChannelGradients& arrived = rings.backward.Read(
          at_work_.dependencies.Position(OperationKind::kBackward, rings.channel.to, sample));
      real = real && arrived.real;
      if (arrived.real) gradients.push_back(Here(arrived.tensors[connection.place]));
    }
  }
  if (!real) return false;
  roots_.clear();
  root_gradients_.clear();
  // A stage of layers without parameters, right behind the camera, has no graph.
  for (std::size_t i = 0; i < kept.ends.size(); ++i) {
    if (!kept.ends[i].requires_grad()) continue;
    roots_.push_back(kept.ends[i]);
    root_gradients_.push_back(gradients[i]);
  }
  if (!roots_.empty()) torch::autograd::backward(roots_, root_gradients_);
  roots_.clear();
  root_gradients_.clear();
  return true;
}

void StageRunner::SendBack(std::int64_t sample, const Kept& kept, bool real) {
  const std::int64_t position =
      at_work_.dependencies.Position(OperationKind::kBackward, number_, sample);
  Tensors gradients;
  for (std::size_t i = 0; i < incoming_.size(); ++i) {
    if (!incoming_[i].rings->carries_gradients) continue;
    const at::Tensor& gradient = kept.inputs[i].grad();
    gradients.push_back(gradient.defined() ? gradient : at::zeros_like(kept.inputs[i]));
  }
  if (real && parts_.device.is_cpu() && !AllFinite(gradients)) {
    real = false;
    ++parts_.not_finite;
  }
  for (const auto& rings : at_work_.channels.all()) {
    if (rings->channel.to != number_ || !rings->carries_gradients) continue;
    rings->backward.Write(position, {Tensors(rings->wires), real});
  }
  auto next = gradients.begin();
  for (const Connection& connection : incoming_) {
    if (!connection.rings->carries_gradients) continue;
    connection.rings->backward.Read(position).tensors[connection.place] = std::move(*next++);
  }
}

bool StageRunner::Update() {
  versions_.Advance();
  buffers_.Commit();
  if (!std::exchange(has_gradient_, false)) return false;
  parts_.optimizer.set_rate_scale(parts_.rate_scale);
  const bool updated = parts_.optimizer.Step();
  if (!updated) ++parts_.not_finite;
  return updated;
}

}  // namespace millrace::pipeline
