// A user's own network, saved by torch.jit: its top-level children, in order, are the layers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/nn/layer.h"
#include "pipeline/tensor_files/named_tensors.h"

namespace millrace::pipeline {

struct TorchScriptChain {
  /// Without skips: a child reads the output of the child before it.
  LayerChain chain;
  /// Every parameter and buffer by its name in the network, sharing memory with the layers.
  NamedTensors parameters;
  NamedTensors buffers;

  /// Parameters and buffers, as in the network's state_dict().
  [[nodiscard]] NamedTensors state() const {
    NamedTensors all = parameters;
    all.insert(all.end(), buffers.begin(), buffers.end());
    return all;
  }
};

/// Loads a network from a file that torch.jit.script(...).save() or torch.jit.trace(...).save()
/// wrote, ready for training on the CPU. The network's own forward() is not used. Turns off
/// TorchScript's graph optimizer for the whole program, so that a network computes the same bits
/// from the first sample on. Fails with NOT_FOUND if the file does not exist. Fails with
/// INVALID_ARGUMENT, and advice, if the file is of another kind, has no children, or two children
/// share parameters.
[[nodiscard]] absl::StatusOr<TorchScriptChain> LoadTorchScriptChain(const std::string& path);

/// The same for the bytes of such a file. Messages use `path` as its name.
[[nodiscard]] absl::StatusOr<TorchScriptChain> DecodeTorchScriptChain(std::string bytes,
                                                                      const std::string& path);

/// The bytes of a file for DecodeTorchScriptChain(), at most kMaxTorchScriptBytes. Fails as
/// LoadTorchScriptChain() if there is no such file.
[[nodiscard]] absl::StatusOr<std::string> ReadTorchScript(const std::string& path);
/// Four billion weights.
inline constexpr std::uint64_t kMaxTorchScriptBytes = std::uint64_t{16} << 30;

}  // namespace millrace::pipeline
