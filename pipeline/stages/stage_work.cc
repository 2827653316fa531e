#include "pipeline/stages/stage_work.h"

#include <ATen/ops/zeros_like.h>
#include <c10/core/AutogradState.h>
#include <torch/csrc/autograd/autograd.h>

#include "pipeline/nn/seeded_draws.h"

namespace millrace::pipeline {
namespace {

// LibTorch has one thread for all backwards of a GPU. Stages
// would wait for each other there, and one stage's capture would meet another stage's work in that
// thread's cuDNN handle.
class BackwardInCallingThread {
 public:
  BackwardInCallingThread() { State().set_multithreading_enabled(false); }
  ~BackwardInCallingThread() { State().set_multithreading_enabled(found_); }

  BackwardInCallingThread(const BackwardInCallingThread&) = delete;
  BackwardInCallingThread& operator=(const BackwardInCallingThread&) = delete;

 private:
  static c10::AutogradState& State() { return c10::AutogradState::get_tls_state(); }

  const bool found_ = State().get_multithreading_enabled();
};

}  // namespace

StageWork::StageWork(const Options& options)
    : options_(options), buffers_(options.stage, options.by_mini_batch) {}

std::uint64_t StageWork::SeedOf(std::int64_t sample) const {
  return MixSeeds(options_.seed, static_cast<std::uint64_t>(sample));
}

void StageWork::Forward(Activations& activations, std::int64_t sample, bool with_loss) {
  StageBuffers::FirstForward forward(buffers_);
  activations.outputs = options_.stage.Forward(activations.inputs, SeedOf(sample));
  forward.Finish();
  SetEnds(activations, sample, with_loss);
}

void StageWork::RepeatForward(Activations& activations, std::int64_t sample) const {
  activations.outputs = options_.stage.Forward(activations.inputs, SeedOf(sample));
  SetEnds(activations, sample, /*with_loss=*/true);
}

void StageWork::SetEnds(Activations& activations, std::int64_t sample, bool with_loss) const {
  activations.ends = activations.outputs;
  if (!has_own_loss() || !with_loss) return;
  activations.loss = options_.loss->Compute(OutputOf(activations, sample));
  activations.ends = {activations.loss.objective};
}

StageOutput StageWork::OutputOf(const Activations& activations, std::int64_t sample) const {
  return {.stage = options_.number,
          .sample = sample,
          .input = activations.camera,
          .output = activations.outputs[0]};
}

bool StageWork::OnPredicted(const Activations& activations, std::int64_t sample) const {
  const bool learns = options_.loss->OnPredicted(OutputOf(activations, sample), activations.loss);
  return learns && activations.loss.objective.defined();
}

Tensors StageWork::Backward(Activations& activations, const Tensors& gradients, bool keep_graph) {
  roots_.clear();
  root_gradients_.clear();
  // What a capture that failed halfway has left behind.
  for (at::Tensor& input : activations.inputs) input.mutable_grad() = at::Tensor();
  // A stage without parameters, directly behind the camera, has no graph.
  for (std::size_t i = 0; i < activations.ends.size(); ++i) {
    if (!activations.ends[i].requires_grad()) continue;
    roots_.push_back(activations.ends[i]);
    root_gradients_.push_back(has_own_loss() ? at::Tensor() : gradients[i]);
  }
  if (!roots_.empty()) {
    const BackwardInCallingThread guard;
    torch::autograd::backward(roots_, root_gradients_, keep_graph);
  }
  roots_.clear();
  root_gradients_.clear();
  Tensors input_gradients;
  for (at::Tensor& input : activations.inputs) {
    if (!input.requires_grad()) continue;
    const at::Tensor gradient = input.grad();
    input_gradients.push_back(gradient.defined() ? gradient : at::zeros_like(input));
    input.mutable_grad() = at::Tensor();
  }
  return input_gradients;
}

}  // namespace millrace::pipeline
