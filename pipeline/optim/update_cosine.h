// How far an optimizer's consecutive updates agree in direction.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// The mean cosine between each update and the one before, over all parameters together. It says
/// whether weights can be predicted, as some methods against late gradients do. Near 1 consecutive
/// updates go the same way, and prediction can help. Near 0 it cannot. Keeps two copies of the
/// parameters. Not thread-safe.
class UpdateCosine {
 public:
  /// `values`: the parameters' memory, without gradients. On the CPU.
  explicit UpdateCosine(std::vector<at::Tensor> values);

  /// Around each update of the values.
  void BeforeUpdate();
  void AfterUpdate();

  /// nullopt before the second update that changes anything.
  [[nodiscard]] std::optional<double> mean() const;

 private:
  std::vector<at::Tensor> values_;
  std::vector<at::Tensor> before_;  // The values before the update, then its negative.
  std::vector<at::Tensor> last_;    // The update before.
  double last_square_ = 0;          // Of its norm.
  double sum_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace millrace::pipeline
