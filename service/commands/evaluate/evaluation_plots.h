// An evaluation as pictures, drawn by gnuplot.
//
// What gnuplot reads is written beside each picture, so that it can be drawn again, differently.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "pipeline/comparison/flow_evaluation.h"

namespace millrace::service {

/// One picture: its name without an ending, and what gnuplot is told to draw it to NAME.svg.
struct EvaluationPlot {
  std::string name;
  std::string commands;
};

/// loss_ratio and, where the motion is known, epe, over the stream's time, a line for each learner
/// (the mean of its seeds) and reference; with more than one camera rate, loss_ratio_by_rate and
/// epe_by_rate: what was there at every instant, with the deviation over the seeds.
[[nodiscard]] std::vector<EvaluationPlot> EvaluationPlots(
    const pipeline::FlowEvaluation& evaluation);

/// Writes NAME.gp and NAME.svg to `folder` for each. Fails naming the file, or with what gnuplot
/// said.
[[nodiscard]] absl::Status DrawPlots(const std::vector<EvaluationPlot>& plots,
                                     const std::string& folder);

}  // namespace millrace::service
