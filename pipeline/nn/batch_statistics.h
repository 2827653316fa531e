// The running averages of batch normalizations, moved once for a whole mini-batch.
//
// A mini-batch that goes through a pipeline sample by sample would move them once a sample, each
// time by the momentum meant for a mini-batch, and the spread between its samples would be lost.
// Gathered and committed together, as torchgpipe's deferred batch normalization does, they become
// what a batch normalization of the whole mini-batch would have made of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/nn/operator_hook.h"

namespace millrace::pipeline {

/// Sums of one mini-batch, for every batch normalization that the network calls, in C++ or
/// TorchScript, while a Gathering lives. Not thread-safe.
class BatchStatistics {
 public:
  /// While it lives, batch normalizations of this thread that would move one of `buffers` are
  /// counted here, and move nothing. What they return is not changed. One for each sample.
  class Gathering {
   public:
    /// REQUIRES: no other one lives on the thread; `statistics` and `buffers` outlive it.
    Gathering(BatchStatistics& statistics, const std::vector<at::Tensor>& buffers);
    ~Gathering();

    Gathering(const Gathering&) = delete;
    Gathering& operator=(const Gathering&) = delete;

   private:
    const HookedOperators hooked_;
  };

  /// Moves the running averages, once, and begins the next mini-batch.
  void Commit();

  // What the operator was called with. For the hooked operator alone.
  struct Call {
    const at::Tensor& input;
    const at::Tensor& running_mean;
    const at::Tensor& running_var;
    double momentum = 0;
  };
  void Add(const Call& call, int earlier_calls);

 private:
  // One call in every sample's forward. A layer that is called twice has two.
  struct Sums {
    at::Tensor running_mean;
    at::Tensor running_var;
    int earlier_calls = 0;  // Of the same layer, in the same forward.
    double momentum = 0;
    std::int64_t count = 0;
    at::Tensor mean;     // Of each channel.
    at::Tensor squares;  // Of the distances from the mean.
  };

  std::vector<Sums> all_;
};

}  // namespace millrace::pipeline
