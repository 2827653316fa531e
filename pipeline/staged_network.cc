#include "pipeline/staged_network.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

using torch::autograd::variable_list;

// The stage, counted from 1, that holds `layer`. 0 is the camera.
int StageOfLayer(const Cuts& cuts, int layer) {
  if (layer < 0) return 0;
  return 1 + static_cast<int>(std::upper_bound(cuts.begin(), cuts.end(), layer) - cuts.begin());
}

// Where one wire of a stage lies: a place in the tensors that a channel carries.
struct Connection {
  int channel = 0;
  int place = 0;
};

int ChannelOf(const Plan& plan, int from, int to) {
  const auto found = std::find_if(plan.channels.begin(), plan.channels.end(),
                                  [&](const Channel& c) { return c.from == from && c.to == to; });
  MILLRACE_CHECK(found != plan.channels.end());
  return static_cast<int>(found - plan.channels.begin());
}

bool AllFinite(const variable_list& tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const at::Tensor& t) { return at::isfinite(t).all().item<bool>(); });
}

}  // namespace

// What the backward of a sample needs of its forward.
struct StagedNetwork::Activations {
  variable_list inputs;   // Leaves of the stage's graph.
  variable_list outputs;  // Its ends: what leaves the stage, or the objective.
};

// What a channel carries for each sample, one tensor a wire.
struct StagedNetwork::ChannelState {
  struct Gradients {
    variable_list tensors;
    bool real = false;
  };

  explicit ChannelState(const Channel& c)
      : channel(c), forward(c.slots), backward(c.gradient_slots) {}

  const Channel channel;
  int wires = 0;
  SlotRing<variable_list> forward;
  SlotRing<Gradients> backward;
};

struct StagedNetwork::StageState {
  StageState(Stage s, int n, const StageRules& rules, double learning_rate)
      : stage(std::move(s)),
        number(n),
        lead(rules.lead),
        activations(rules.slots),
        optimizer(stage.parameters(), learning_rate) {}

  const Stage stage;
  const int number;
  const int lead;
  // One a wire; none for the prediction.
  std::vector<Connection> incoming;
  std::vector<Connection> outgoing;
  SlotRing<Activations> activations;
  RmsProp optimizer;
  // Whether a real gradient came since the last update.
  bool has_gradient = false;
  std::atomic<std::int64_t> updates = 0;
};

std::vector<Stage> CutIntoStages(const LayerChain& chain, const Cuts& cuts) {
  const int layers = static_cast<int>(chain.layers.size());
  std::vector<Stage> stages;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const int first = i == 0 ? 0 : cuts[i - 1];
    const int last = (i == cuts.size() ? layers : cuts[i]) - 1;
    stages.emplace_back(chain, first, last);
  }
  return stages;
}

PipelineShape ShapeOf(const LayerChain& chain, const Cuts& cuts) {
  PipelineShape shape{.stages = static_cast<int>(cuts.size()) + 1, .skips = {}};
  for (const SkipEdge& edge : chain.skips) {
    const StageSkip skip{StageOfLayer(cuts, edge.from), StageOfLayer(cuts, edge.to)};
    const bool known =
        std::any_of(shape.skips.begin(), shape.skips.end(),
                    [&skip](const StageSkip& s) { return s.from == skip.from && s.to == skip.to; });
    // Neighbours have a channel anyway.
    if (skip.to > skip.from + 1 && !known) shape.skips.push_back(skip);
  }
  return shape;
}

StagedNetwork::StagedNetwork(Options options)
    : chain_(std::move(options.chain)),
      cuts_(std::move(options.cuts)),
      plan_(std::move(options.plan)),
      judge_(std::move(options.judge)) {
  for (const Channel& channel : plan_.channels) {
    channels_.push_back(std::make_unique<ChannelState>(channel));
  }
  for (Stage& stage : CutIntoStages(chain_, cuts_)) {
    AddStage(std::move(stage), options.learning_rate);
  }
}

// A wire's place in its channel is the number of the stage's wires that the channel carries
// already. The stages at both ends go through their wires in the same order, so they agree.
void StagedNetwork::AddStage(Stage cut, double learning_rate) {
  const int number = static_cast<int>(stages_.size()) + 1;
  const int layers = static_cast<int>(chain_.layers.size());
  auto stage =
      std::make_unique<StageState>(std::move(cut), number, plan_.rules(number), learning_rate);
  std::vector<int> used(channels_.size(), 0);
  const auto connect = [&](const Wire& wire) {
    const int channel =
        ChannelOf(plan_, StageOfLayer(cuts_, wire.from), StageOfLayer(cuts_, wire.to));
    return Connection{channel, used[channel]++};
  };
  for (const Wire& wire : stage->stage.incoming()) stage->incoming.push_back(connect(wire));
  for (const Wire& wire : stage->stage.outgoing()) {
    if (wire.to < layers) stage->outgoing.push_back(connect(wire));
  }
  for (const Connection& c : stage->outgoing) ++channels_[c.channel]->wires;
  stages_.push_back(std::move(stage));
}

StagedNetwork::~StagedNetwork() = default;

void StagedNetwork::Admit(std::int64_t sample, const at::Tensor& input) {
  for (const auto& state : channels_) {
    if (state->channel.from == 0) state->forward.Write(sample, {input});
  }
}

void StagedNetwork::Run(const Step& step) {
  StageState& stage = *stages_.at(step.stage - 1);
  for (std::int64_t sample = step.first; sample <= step.last; ++sample) {
    if (step.kind == OperationKind::kForward) Forward(stage, sample);
    if (step.kind == OperationKind::kBackward) Backward(stage, sample);
  }
  if (step.kind == OperationKind::kUpdate) Update(stage);
}

void StagedNetwork::Forward(StageState& stage, std::int64_t sample) {
  Activations kept;
  for (const Connection& c : stage.incoming) {
    ChannelState& channel = *channels_[c.channel];
    at::Tensor leaf = channel.forward.Read(sample)[c.place].detach();
    leaf.set_requires_grad(channel.channel.from > 0);
    kept.inputs.push_back(std::move(leaf));
  }
  kept.outputs = stage.stage.Forward(kept.inputs);

  if (stage.number == plan_.stage_count()) {
    ChannelState& camera = *channels_[ChannelOf(plan_, 0, stage.number)];
    kept.outputs = {judge_(sample, camera.forward.Read(sample)[0], kept.outputs[0])};
  }
  SendForward(stage, sample, kept);
  stage.activations.Write(sample, std::move(kept));
}

void StagedNetwork::SendForward(const StageState& stage, std::int64_t sample,
                                const Activations& made) {
  for (const auto& state : channels_) {
    if (state->channel.from != stage.number) continue;
    state->forward.Write(sample, variable_list(state->wires));
  }
  for (std::size_t i = 0; i < stage.outgoing.size(); ++i) {
    const Connection& c = stage.outgoing[i];
    channels_[c.channel]->forward.Read(sample)[c.place] = made.outputs[i].detach();
  }
}

void StagedNetwork::Backward(StageState& stage, std::int64_t sample) {
  Activations& kept = stage.activations.Read(sample + stage.lead);
  variable_list gradients;
  bool real =
      !stage.outgoing.empty() || AllFinite(kept.outputs);  // The last stage's: the objective.
  for (const Connection& c : stage.outgoing) {
    const ChannelState::Gradients& arrived = channels_[c.channel]->backward.Read(sample);
    real = real && arrived.real;
    if (real) gradients.push_back(arrived.tensors[c.place]);
  }
  if (real) {
    torch::autograd::backward(kept.outputs, gradients);
    stage.has_gradient = true;
  }
  SendBackward(stage, sample, kept, real);
  kept = {};  // The graph is spent.
}

void StagedNetwork::SendBackward(const StageState& stage, std::int64_t sample,
                                 const Activations& kept, bool real) {
  if (stage.number == 1) return;  // The camera takes no gradient.
  variable_list gradients;
  gradients.reserve(kept.inputs.size());
  for (const at::Tensor& input : kept.inputs) {
    const at::Tensor& gradient = input.grad();
    gradients.push_back(gradient.defined() ? gradient : at::zeros_like(input));
  }
  real = real && AllFinite(gradients);
  for (const auto& state : channels_) {
    if (state->channel.to != stage.number || state->channel.from == 0) continue;
    state->backward.Write(sample, {variable_list(state->wires), real});
  }
  for (std::size_t i = 0; i < stage.incoming.size(); ++i) {
    const Connection& c = stage.incoming[i];
    channels_[c.channel]->backward.Read(sample).tensors[c.place] = gradients[i];
  }
}

void StagedNetwork::Update(StageState& stage) {
  if (!stage.has_gradient) return;
  stage.has_gradient = false;
  if (stage.optimizer.Step()) ++stage.updates;
}

std::vector<std::int64_t> StagedNetwork::updates() const {
  std::vector<std::int64_t> updates;
  updates.reserve(stages_.size());
  for (const auto& stage : stages_) updates.push_back(stage->updates);
  return updates;
}

}  // namespace millrace::pipeline
