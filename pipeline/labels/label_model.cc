#include "pipeline/labels/label_model.h"

#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

#include "pipeline/labels/label_stage_loss.h"
#include "pipeline/nn/network_state.h"

namespace millrace::pipeline {

at::Tensor BatchOf(std::span<const float> values, std::vector<std::int64_t> shape) {
  shape.insert(shape.begin(), static_cast<std::int64_t>(values.size()) / NumbersOf(shape));
  return at::from_blob(const_cast<float*>(values.data()), shape, at::TensorOptions(at::kFloat));
}

LabelModel::LabelModel(LayerChain chain, const LearnerOptions& options,
                       const LabelTaskOptions& task)
    : chain_(std::move(chain)),
      whole_(WholeChain(chain_)),
      shape_(SampleShape(options, task)),
      task_(task.task),
      seed_(options.seed) {}

void LabelModel::Take(const std::vector<LayerState>& layers) { RestoreValues(layers, chain_); }

std::vector<std::vector<float>> LabelModel::Outputs(std::span<const float> values) const {
  const at::NoGradGuard no_graph;
  const at::Tensor made = whole_.Forward({BatchOf(values, shape_)}, seed_)[0];
  std::vector<std::vector<float>> outputs;
  for (std::int64_t row = 0; row < made.size(0); ++row) {
    outputs.push_back(OutputsOf(made[row], task_));
  }
  return outputs;
}

}  // namespace millrace::pipeline
