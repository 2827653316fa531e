// What the forwards of a stage change besides its weights: the running averages of a normalization,
// say. Each sample moves them once, however often it goes forward.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/functional/function_ref.h"
#include "pipeline/nn/batch_statistics.h"
#include "pipeline/nn/stage.h"

namespace millrace::pipeline {

/// The values of tensors, to be put back.
class TensorValues {
 public:
  TensorValues() = default;
  explicit TensorValues(const std::vector<at::Tensor>& tensors) { Take(tensors); }
  /// Takes the values of these instead, without new memory if their shapes are those of before.
  void Take(const std::vector<at::Tensor>& tensors);
  /// Into the same tensors, or others of their shapes. Past autograd, which takes no notice.
  void PutInto(const std::vector<at::Tensor>& tensors) const;
  /// The same where `flag`, a scalar of bool on their device, is false.
  void PutIntoUnless(const at::Tensor& flag, const std::vector<at::Tensor>& tensors) const;

 private:
  std::vector<at::Tensor> values_;
};

/// The buffers of one stage. Not thread-safe.
class StageBuffers {
 public:
  using Forward = absl::FunctionRef<Tensors()>;

  /// `by_pattern`: they move when Commit() is called, once for all samples before it. Every one of
  /// these finds the buffers as the first did, and so does its backward. Running averages of batch
  /// normalizations then become what one over all the samples would have made of them; other
  /// buffers what the last sample did. REQUIRES: `stage` outlives it.
  StageBuffers(const Stage& stage, bool by_pattern);

  /// Runs a sample's forward, which moves the buffers, at once or with Commit(). Where that would
  /// leave in them what is not finite, they stay as they are.
  [[nodiscard]] Tensors First(Forward forward);
  void Commit();

  /// Whether there are none, or a forward moves them in the memory where it found them, at once.
  [[nodiscard]] bool stay_in_place() const { return !any_ || (!by_pattern_ && !replaced_); }

  /// For a forward that is run again: ends by putting the buffers back as it found them. To live
  /// until the sample has gone backward, whose graph may read what the forward moved.
  class Unmoved {
   public:
    explicit Unmoved(const StageBuffers& buffers) : buffers_(buffers), found_(buffers.buffers()) {}
    ~Unmoved() { found_.PutInto(buffers_.buffers()); }

    Unmoved(const Unmoved&) = delete;
    Unmoved& operator=(const Unmoved&) = delete;

   private:
    const StageBuffers& buffers_;
    const TensorValues found_;
  };

 private:
  // Asked for each time: a forward may put another tensor in a buffer's place.
  [[nodiscard]] std::vector<at::Tensor> buffers() const { return stage_.buffers(); }
  [[nodiscard]] Tensors Gather(Forward forward);
  void Move(absl::FunctionRef<void()> by);

  const Stage& stage_;
  const bool any_;
  const bool by_pattern_;
  // Of the samples since the last Commit(), where it is by pattern.
  bool moved_ = false;
  bool replaced_ = false;  // A forward put another tensor in one's place.
  TensorValues to_commit_;
  BatchStatistics statistics_;
  TensorValues before_;  // They were moved.
};

}  // namespace millrace::pipeline
