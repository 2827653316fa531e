// The running averages of batch normalizations, updated once per mini-batch.
//
// Without this, a mini-batch that goes through a pipeline sample by sample would update them once
// per sample. Each update would use the momentum of a mini-batch, and the spread between samples
// would be lost. Torchgpipe's deferred batch normalization gathers the statistics and commits them
// together, as this does. The result is that of one batch normalization over the whole mini-batch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/nn/operator_hook.h"

namespace millrace::pipeline {

/// The sums of one mini-batch, for every batch normalization that the network calls from C++ or
/// TorchScript during a Gathering. Not thread-safe.
class BatchStatistics {
 public:
  /// During its lifetime, batch normalizations of this thread that would update one of `buffers`
  /// are counted here instead. Their results do not change. Needed once per sample.
  class Gathering {
   public:
    /// REQUIRES: the thread has no other Gathering; `statistics` and `buffers` outlive this one.
    Gathering(BatchStatistics& statistics, const std::vector<at::Tensor>& buffers);
    ~Gathering();

    Gathering(const Gathering&) = delete;
    Gathering& operator=(const Gathering&) = delete;

   private:
    const HookedOperators hooked_;
  };

  /// Updates the running averages once, and starts the next mini-batch.
  void Commit();

  // The arguments of the operator. Only the hooked operator uses this.
  struct Call {
    const at::Tensor& input;
    const at::Tensor& running_mean;
    const at::Tensor& running_var;
    double momentum = 0;
  };
  void Add(const Call& call, int earlier_calls);

 private:
  // One call in every sample's forward. A layer that is called twice has two of them.
  struct Sums {
    at::Tensor running_mean;
    at::Tensor running_var;
    int earlier_calls = 0;  // Calls of the same layer in the same forward.
    double momentum = 0;
    std::int64_t count = 0;
    at::Tensor mean;     // Of each channel.
    at::Tensor squares;  // Of the distances from the mean.
  };

  std::vector<Sums> all_;
};

}  // namespace millrace::pipeline
