// The mean scores of pretraining, from one report to the next.
#pragma once

#include <cstdint>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros_like.h>

#include "pipeline/flow/flow_loss.h"
#include "pipeline/offline/pretrain.h"

namespace millrace::pipeline {

/// The mean distance from the true flow, in pixels.
inline double EndPointError(const at::Tensor& flow, const at::Tensor& truth) {
  return (flow - truth).square().sum(1).sqrt().mean().item<double>();
}

/// Sums for the means of a report.
class PretrainReport {
 public:
  void Add(const FlowLoss& loss, const at::Tensor& flow, const at::Tensor& truth) {
    ++frames_;
    photometric_ += loss.photometric.item<double>();
    no_motion_ += loss.no_motion.item<double>();
    error_ += EndPointError(flow, truth);
    error_no_motion_ += EndPointError(at::zeros_like(truth), truth);
  }

  [[nodiscard]] PretrainProgress Close(std::int64_t frames_so_far) {
    const double frames = static_cast<double>(frames_);
    const PretrainProgress progress{frames_so_far, photometric_ / no_motion_, error_ / frames,
                                    error_no_motion_ / frames};
    *this = PretrainReport();
    return progress;
  }

 private:
  std::int64_t frames_ = 0;
  double photometric_ = 0;
  double no_motion_ = 0;
  double error_ = 0;
  double error_no_motion_ = 0;
};

}  // namespace millrace::pipeline
