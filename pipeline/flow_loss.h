// How well a flow explains a pair of pictures, without any label: the unsupervised objective of
// optical flow.
#pragma once

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// What a flow costs on one pair.
struct FlowLoss {
  /// What is minimised; a scalar that autograd can go back from.
  at::Tensor objective;
  /// Scalars without a graph: the photometric loss of the flow over the pixels that stay in the
  /// picture, and that of zero flow.
  at::Tensor photometric;
  at::Tensor no_motion;
};

}  // namespace millrace::pipeline
