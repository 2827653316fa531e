#include "pipeline/flow/flow_figures.h"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/ops/stack.h>

#include "pipeline/flow/flow_pictures.h"
#include "pipeline/flow/flow_task.h"
#include "pipeline/ops/finite.h"

namespace millrace::pipeline {

// The first tensor holds the loss's values and, last, whether the output is finite. The second one
// is the predicted flow.
LossValue MeasureFlow(const FlowTaskOptions& task, const at::Tensor& pictures,
                      const at::Tensor& output) {
  const FlowLoss loss = LossFor(task, pictures, output);
  std::vector<at::Tensor> figures = {loss.photometric, loss.no_motion};
  for (const FlowLoss::Term& term : loss.terms) figures.push_back(term.value);
  figures.push_back(FiniteFlag(output).to(loss.photometric.scalar_type()));
  return {.objective = loss.objective,
          .figures = {at::stack(figures), PixelByPixel(PredictedFlow(output, task.next_frame))}};
}

ModelPrediction FlowPredictionOf(const Tensors& figures) {
  std::vector<std::vector<float>> on_host = OnHost(figures);
  const std::vector<float>& values = on_host[0];
  ModelPrediction prediction{
      .width = static_cast<int>(figures[1].size(1)),
      .height = static_cast<int>(figures[1].size(0)),
      .flow = std::make_shared<const std::vector<float>>(std::move(on_host[1])),
      .loss = values[0],
      .loss_no_motion = values[1]};
  prediction.terms.assign(values.begin() + 2, values.end() - 1);
  prediction.finite = std::isfinite(prediction.loss) && std::isfinite(prediction.loss_no_motion) &&
                      values.back() != 0;
  return prediction;
}

}  // namespace millrace::pipeline
