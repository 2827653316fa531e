// An evaluation as plots, drawn by gnuplot.
//
// gnuplot's input is written beside each plot, so that users can change and redraw it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "pipeline/comparison/flow_evaluation.h"

namespace millrace::service {

/// One plot: its name without an extension, and the gnuplot commands that draw NAME.svg.
struct EvaluationPlot {
  std::string name;
  std::string commands;
};

/// Plots over the stream's time: loss_ratio and, if the motion is known, epe. They have one line
/// for each learner (the mean of its seeds) and each reference. With more than one camera rate,
/// also loss_ratio_by_rate and epe_by_rate: the quality at each instant, with the deviation over
/// the seeds.
[[nodiscard]] std::vector<EvaluationPlot> EvaluationPlots(
    const pipeline::FlowEvaluation& evaluation);

/// Writes NAME.gp and NAME.svg to `folder` for each plot. Fails with the file's name, or with
/// gnuplot's message.
[[nodiscard]] absl::Status DrawPlots(const std::vector<EvaluationPlot>& plots,
                                     const std::string& folder);

}  // namespace millrace::service
