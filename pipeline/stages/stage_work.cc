#include "pipeline/stages/stage_work.h"

#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include "pipeline/nn/seeded_draws.h"

namespace millrace::pipeline {

StageWork::StageWork(const Options& options)
    : options_(options), buffers_(options.stage, options.by_mini_batch) {}

// The random numbers are the same for a repeated forward, and for all cuts of the network.
Tensors StageWork::Forward(const ForwardMade& made, std::int64_t sample) const {
  return options_.stage.Forward(made.inputs,
                                MixSeeds(options_.seed, static_cast<std::uint64_t>(sample)));
}

void StageWork::GoForward(ForwardMade& made, std::int64_t sample, bool with_loss) {
  made.outputs = buffers_.First([&] { return Forward(made, sample); });
  made.ends = made.outputs;
  if (has_own_loss() && with_loss) ComputeLoss(made, sample);
}

void StageWork::GoForwardAgain(ForwardMade& made, std::int64_t sample) const {
  made.outputs = Forward(made, sample);
  made.ends = made.outputs;
  if (has_own_loss()) ComputeLoss(made, sample);
}

StageOutput StageWork::OutputOf(const ForwardMade& made, std::int64_t sample) const {
  return {
      .stage = options_.number, .sample = sample, .input = made.camera, .output = made.outputs[0]};
}

void StageWork::ComputeLoss(ForwardMade& made, std::int64_t sample) const {
  made.loss = options_.loss->Compute(OutputOf(made, sample));
  made.ends = {made.loss.objective};
}

bool StageWork::OnPredicted(const ForwardMade& made, std::int64_t sample) const {
  const bool learns = options_.loss->OnPredicted(OutputOf(made, sample), made.loss);
  return learns && made.loss.objective.defined();
}

Tensors StageWork::GoBackward(ForwardMade& made, const Tensors& gradients, bool keep_graph) {
  roots_.clear();
  root_gradients_.clear();
  // A stage without parameters, directly behind the camera, has no graph.
  for (std::size_t i = 0; i < made.ends.size(); ++i) {
    if (!made.ends[i].requires_grad()) continue;
    roots_.push_back(made.ends[i]);
    root_gradients_.push_back(has_own_loss() ? at::Tensor() : gradients[i]);
  }
  if (!roots_.empty()) torch::autograd::backward(roots_, root_gradients_, keep_graph);
  roots_.clear();
  root_gradients_.clear();
  Tensors of_inputs;
  for (at::Tensor& input : made.inputs) {
    if (!input.requires_grad()) continue;
    const at::Tensor gradient = input.grad();
    of_inputs.push_back(gradient.defined() ? gradient : at::zeros_like(input));
    input.mutable_grad() = at::Tensor();
  }
  return of_inputs;
}

}  // namespace millrace::pipeline
