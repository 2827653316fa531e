// The flow network and its objective as compositions of LibTorch's own operators: the oracle and
// the baseline of our operators.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/ops/picture_pairs.h"

namespace millrace::pipeline::plain {

/// As the objective `relative`; `visible` undefined: every pixel is.
[[nodiscard]] at::Tensor RelativeObjective(const at::Tensor& pictures, const at::Tensor& flow,
                                           const at::Tensor& visible, double smoothness);

/// As the network `flow` with these parameters, in their order and type.
[[nodiscard]] at::Tensor Flow(const std::vector<at::Tensor>& parameters, const at::Tensor& pictures,
                              PicturePairs pairs);

/// As RMSprop's update without weight decay, by the parameters' gradients, which it then zeroes.
void Update(const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& squares,
            double learning_rate);

}  // namespace millrace::pipeline::plain
