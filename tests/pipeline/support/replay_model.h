// A user's network and samples for tests of replaying, written to files.
#pragma once

#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/jit/api/module.h>

#include "pipeline/tensor_files/tensor_file.h"

namespace millrace::pipeline {

/// tanh(W x + b), as torch.jit.script would save it.
inline torch::jit::Module Child(const std::string& name, int in, int out) {
  torch::jit::Module child(name);
  child.register_parameter("weight", (at::randn({out, in}) * 0.5).set_requires_grad(true), false);
  child.register_parameter("bias", at::randn({out}).mul_(0.1).set_requires_grad(true), false);
  child.define(R"(
    def forward(self, x):
      return torch.tanh(torch.addmm(self.bias, x, self.weight.t()))
  )");
  return child;
}

/// A child without parameters.
inline torch::jit::Module Doubling() {
  torch::jit::Module child("Doubling");
  child.define("def forward(self, x):\n  return x * 2\n");
  return child;
}

/// Batch normalization of four numbers as two channels, as torch.jit.script would save it.
inline torch::jit::Module Normalizing() {
  torch::jit::Module child("Normalizing");
  child.register_buffer("running_mean", at::zeros({2}));
  child.register_buffer("running_var", at::ones({2}));
  child.register_buffer("num_batches_tracked", at::zeros({}, at::kLong));
  child.define(R"(
    def forward(self, x):
      self.num_batches_tracked.add_(1)
      return torch.batch_norm(x.view([-1, 2, 2]), None, None, self.running_mean, self.running_var,
                              True, 0.1, 1e-5, False).view([-1, 4])
  )");
  return child;
}

/// Dropout with noise, in training.
inline torch::jit::Module Dropping() {
  torch::jit::Module child("Dropping");
  child.define(
      "def forward(self, x):\n  return torch.dropout(x, 0.3, True) + 0.1 * torch.rand_like(x)\n");
  return child;
}

/// A network of these children, named "0", "1" ...
inline void SaveNetwork(const std::vector<torch::jit::Module>& children, const std::string& path) {
  torch::jit::Module network("Network");
  int number = 0;
  for (const torch::jit::Module& child : children) {
    network.register_module(std::to_string(number++), child);
  }
  network.define("def forward(self, x):\n  return x\n");
  network.save(path);
}

/// Four layers of four numbers each. Always the same.
inline void SaveSquareNetwork(const std::string& path) {
  at::manual_seed(21);
  SaveNetwork({Child("A", 4, 4), Child("B", 4, 4), Child("C", 4, 4), Child("D", 4, 4)}, path);
}

/// Inputs and targets of four numbers. Always the same.
inline NamedTensors SquareSamples(int count) {
  at::manual_seed(22);
  const at::Tensor inputs = at::randn({count, 4});
  return {{"inputs", inputs}, {"targets", at::sigmoid(inputs.roll(1, 1))}};
}

}  // namespace millrace::pipeline
