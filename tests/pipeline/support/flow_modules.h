// Layers of a user's own network of optical flow, as torch.jit.script would save them.
#pragma once

#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/jit/api/module.h>

namespace millrace::pipeline {

/// A convolution that keeps the size.
inline torch::jit::Module Convolution(const std::string& name, int in, int out) {
  torch::jit::Module child(name);
  child.register_parameter("weight", (at::randn({out, in, 3, 3}) * 0.1).set_requires_grad(true),
                           false);
  child.register_parameter("bias", at::zeros({out}).set_requires_grad(true), false);
  child.define(
      "def forward(self, x):\n  return torch.conv2d(x, self.weight, self.bias, [1, 1], [1, 1])\n");
  return child;
}

}  // namespace millrace::pipeline
