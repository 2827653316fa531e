#include "pipeline/flow/flow_task.h"

#include "pipeline/flow/next_frame.h"

namespace millrace::pipeline {

std::string FlowTaskInWords(const FlowLearnerOptions& options) {
  return options.next_frame ? "the next frame" : "optical flow";
}

PicturePairs PairsFor(const FlowLearnerOptions& options) {
  return options.next_frame ? PicturePairs::kInTurn : PairsJudged(options.loss);
}

FlowLoss LossFor(const FlowLearnerOptions& options, const at::Tensor& pictures,
                 const at::Tensor& flow) {
  return options.next_frame ? ComputeNextFrameLoss(pictures, flow, options.loss)
                            : ComputeFlowLoss(pictures, flow, options.loss);
}

at::Tensor PredictedFlow(const FlowLearnerOptions& options, const at::Tensor& flow) {
  return flow.narrow(0, options.next_frame ? 1 : 0, 1);
}

}  // namespace millrace::pipeline
