#include "pipeline/ops/blend_flow.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/replication_pad2d.h>
#include <ATen/ops/softmax.h>

namespace millrace::pipeline {

at::Tensor BlendFlow(const at::Tensor& flow, const at::Tensor& choices) {
  const at::Tensor still = flow.detach();
  const at::Tensor weights = at::softmax(choices.narrow(1, 0, kBlendWeights), 1);
  const std::int64_t height = flow.size(2);
  const std::int64_t width = flow.size(3);
  at::Tensor blend = choices.narrow(1, kBlendWeights, 2) + weights.narrow(1, 0, 1) * still;
  std::int64_t k = 1;
  for (const std::int64_t distance : kBlendDistances) {
    const at::Tensor padded =
        at::replication_pad2d(still, {distance, distance, distance, distance});
    for (const std::int64_t y : {std::int64_t{0}, distance, 2 * distance}) {
      for (const std::int64_t x : {std::int64_t{0}, distance, 2 * distance}) {
        if (x == distance && y == distance) continue;
        const at::Tensor neighbour = padded.narrow(2, y, height).narrow(3, x, width);
        blend = blend + weights.narrow(1, k++, 1) * neighbour;
      }
    }
  }
  return blend;
}

}  // namespace millrace::pipeline
