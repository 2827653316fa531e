#include "pipeline/flow/flow_task.h"

#include "pipeline/flow/next_frame.h"

namespace millrace::pipeline {

std::string FlowTaskInWords(bool next_frame) {
  return next_frame ? "the next frame" : "optical flow";
}

PicturePairs PairsFor(const FlowTaskOptions& task) {
  return task.next_frame ? PicturePairs::kInTurn : PairsJudged(task.loss);
}

FlowLoss LossFor(const FlowTaskOptions& task, const at::Tensor& pictures, const at::Tensor& flow) {
  return task.next_frame ? ComputeNextFrameLoss(pictures, flow, task.loss)
                         : ComputeFlowLoss(pictures, flow, task.loss);
}

at::Tensor PredictedFlow(const at::Tensor& flow, bool next_frame) {
  return flow.narrow(0, next_frame ? 1 : 0, 1);
}

}  // namespace millrace::pipeline
