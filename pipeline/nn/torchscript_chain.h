// A user's own network, saved by torch.jit: its top-level children, in order, are the layers.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/nn/layer.h"
#include "pipeline/tensor_files/named_tensors.h"

namespace millrace::pipeline {

struct TorchScriptChain {
  /// No skips: a child reads what the one before it returned.
  LayerChain chain;
  /// Every parameter and buffer by its name in the network, sharing memory with the layers.
  NamedTensors parameters;
  NamedTensors buffers;

  /// Both: what its state_dict() has.
  [[nodiscard]] NamedTensors state() const {
    NamedTensors all = parameters;
    all.insert(all.end(), buffers.begin(), buffers.end());
    return all;
  }
};

/// Loads a network from the file that torch.jit.script(...).save() or torch.jit.trace(...).save()
/// wrote, ready to be trained on the CPU. Its own forward() is not used. TorchScript's graph
/// optimizer is turned off for the whole program, so that a network computes the same bits from the
/// first sample on. Fails with NOT_FOUND if there is no file, and INVALID_ARGUMENT, saying what to
/// do, if it is no such file, has no children, or two children share parameters.
[[nodiscard]] absl::StatusOr<TorchScriptChain> LoadTorchScriptChain(const std::string& path);

}  // namespace millrace::pipeline
