// The buffers that a stage's forwards change besides its weights, such as the running averages of a
// normalization. Each sample updates them once, even if its forward runs twice.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/functional/function_ref.h"
#include "pipeline/nn/batch_statistics.h"
#include "pipeline/nn/stage.h"
#include "pipeline/nn/tensor_snapshot.h"

namespace millrace::pipeline {

/// The buffers of one stage. Not thread-safe.
class StageBuffers {
 public:
  using Forward = absl::FunctionRef<Tensors()>;

  /// `by_pattern`: the buffers change only in Commit(), once for all samples before it. The
  /// forwards and backwards of these samples all read the buffers as the first one found them.
  /// Running averages of batch normalizations become those of one batch over all samples; other
  /// buffers become those of the last sample. REQUIRES: `stage` outlives this object.
  StageBuffers(const Stage& stage, bool by_pattern);

  /// Runs a sample's forward, which updates the buffers now or in Commit(). If that would make a
  /// value that is not finite, the buffers stay unchanged.
  [[nodiscard]] Tensors First(Forward forward);
  void Commit();

  /// Whether every forward updates the buffers at once and in their own memory, if there are any.
  [[nodiscard]] bool stay_in_place() const { return !any_ || (!by_pattern_ && !replaced_); }

  /// A scope guard for a repeated forward: the destructor restores the buffers. It must live until
  /// the sample has gone backward, because its graph may read updated buffers.
  class Unmoved {
   public:
    explicit Unmoved(const StageBuffers& buffers) : buffers_(buffers), found_(buffers.buffers()) {}
    ~Unmoved() { found_.Restore(buffers_.buffers()); }

    Unmoved(const Unmoved&) = delete;
    Unmoved& operator=(const Unmoved&) = delete;

   private:
    const StageBuffers& buffers_;
    const TensorSnapshot found_;
  };

 private:
  // Read each time: a forward may replace a buffer by another tensor.
  [[nodiscard]] std::vector<at::Tensor> buffers() const { return stage_.buffers(); }
  [[nodiscard]] Tensors Gather(Forward forward);
  void Move(absl::FunctionRef<void()> by);

  const Stage& stage_;
  const bool any_;
  const bool by_pattern_;
  // For the samples since the last Commit(), if by pattern.
  bool moved_ = false;
  bool replaced_ = false;  // A forward replaced a buffer by another tensor.
  TensorSnapshot to_commit_;
  BatchStatistics statistics_;
  TensorSnapshot before_;  // The values before the update.
};

}  // namespace millrace::pipeline
