#include "pipeline/labels/label_costs.h"

#include <algorithm>

#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>

#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/labels/label_networks.h"
#include "pipeline/stages/profile_layers.h"

namespace millrace::pipeline {

absl::StatusOr<NetworkProfile> MeasureLabelNetwork(const LearnerOptions& learner,
                                                   const LabelTaskOptions& task,
                                                   const LabelCostOptions& options) {
  return ExceptionToStatus(
      [&]() -> absl::StatusOr<NetworkProfile> {
        at::set_num_threads(std::max(1, learner.threads_per_stage));
        MILLRACE_ASSIGN_OR_RETURN(const NetworkWithState opened,
                                  OpenLabelNetwork(learner, task, options.stop));
        std::vector<std::int64_t> shape = SampleShape(learner, task);
        shape.insert(shape.begin(), task.window);
        NetworkProfile costs = ProfileLayers(
            opened.chain, at::zeros(shape),
            [](const at::Tensor& output) { return output.square().mean(); },
            {.runs = options.steps, .on_sample = options.on_step, .stop = options.stop});
        if (options.stop.stop_requested()) return absl::CancelledError("the learner is not wanted");
        for (LayerProfile& layer : costs.layers) layer.cost.copy = 0;
        return costs;
      },
      InvalidCause);
}

}  // namespace millrace::pipeline
