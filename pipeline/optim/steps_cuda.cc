#include "pipeline/optim/steps_cuda.h"

#include <algorithm>

namespace millrace::pipeline::gpu {

bool HasSteps(const StepLists& lists) {
  const auto fits = [&](const std::vector<at::Tensor>& tensors) {
    return std::ranges::equal(tensors, lists.values, [](const auto& tensor, const auto& value) {
      return tensor.scalar_type() == at::kFloat && tensor.strides() == value.strides();
    });
  };
  std::int64_t numbers = 0;
  for (const at::Tensor& value : lists.values) numbers += value.numel();
  return HasKernels(lists.values.front().device(), numbers) &&
         std::ranges::all_of(lists.values, &at::Tensor::is_non_overlapping_and_dense) &&
         fits(lists.values) && fits(lists.gradients) && fits(lists.states);
}

void LaunchSteps(const StepLists& lists, const DeviceStep& step, double weight_decay,
                 absl::FunctionRef<Body(const StepTensors&, std::size_t first)> body) {
  for (std::size_t first = 0; first < lists.values.size(); first += StepTensors::kMaxTensors) {
    StepTensors tensors{.rate = step.rate().const_data_ptr<float>(),
                        .refused = step.refused().const_data_ptr<float>(),
                        .weight_decay = static_cast<float>(weight_decay)};
    const std::size_t end = std::min(first + StepTensors::kMaxTensors, lists.values.size());
    std::int64_t elements = 0;
    for (std::size_t i = first; i < end; ++i) {
      elements += lists.values[i].numel();
      tensors.ends[i - first] = Narrow(elements);
      tensors.values[i - first] = lists.values[i].mutable_data_ptr<float>();
      tensors.gradients[i - first] = lists.gradients[i].mutable_data_ptr<float>();
      tensors.states[i - first] = lists.states[i].mutable_data_ptr<float>();
    }
    Launch(body(tensors, first), elements, lists.values.front().device());
  }
}

}  // namespace millrace::pipeline::gpu
