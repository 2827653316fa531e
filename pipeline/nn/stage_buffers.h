// The buffers that a stage's forwards change besides its weights, such as the running averages of a
// normalization. Each sample updates them once, even if its forward runs twice.
#pragma once

#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "pipeline/nn/batch_statistics.h"
#include "pipeline/nn/stage.h"
#include "pipeline/nn/tensor_snapshot.h"

namespace millrace::pipeline {

/// The buffers of one stage. Not thread-safe.
class StageBuffers {
 public:
  /// `by_pattern`: the buffers change only in Commit(), once for all samples before it. The
  /// forwards and backwards of these samples all read the buffers as the first one found them.
  /// Running averages of batch normalizations become those of one batch over all samples; other
  /// buffers become those of the last sample. REQUIRES: `stage` outlives this object.
  StageBuffers(const Stage& stage, bool by_pattern);

  /// The scope of a sample's first forward. Finish() updates the buffers, or leaves that to
  /// Commit(). If that would make a value that is not finite, the buffers stay unchanged.
  class FirstForward {
   public:
    explicit FirstForward(StageBuffers& buffers);
    /// Call it after the forward.
    void Finish();

    FirstForward(const FirstForward&) = delete;
    FirstForward& operator=(const FirstForward&) = delete;

   private:
    StageBuffers& buffers_;
    // By pattern: the buffers before the forward.
    std::vector<at::Tensor> found_;
    TensorSnapshot values_;
    std::optional<BatchStatistics::Gathering> gathering_;
  };
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
  void BeginUpdate();
  void EndUpdate();

  const Stage& stage_;
  const bool any_;
  const bool by_pattern_;
  // For the samples since the last Commit(), if by pattern.
  bool moved_ = false;
  bool replaced_ = false;  // A forward replaced a buffer by another tensor.
  TensorSnapshot to_commit_;
  BatchStatistics statistics_;
  // Before the update: the tensors and their values.
  std::vector<at::Tensor> found_;
  TensorSnapshot before_;
};

}  // namespace millrace::pipeline
