#include "service/commands/evaluate/evaluation_metrics.h"

#include <algorithm>

#include "base/check.h"

namespace millrace::service {
namespace {

using pipeline::PixelMean;
using pipeline::StreamScores;

template <PixelMean pipeline::FlowScores::*Mean>
std::optional<double> MeanBy(const StreamScores& scores) {
  return (scores.flow.*Mean).mean();
}

std::optional<double> RatioOf(const StreamScores& scores) {
  if (scores.loss.loss_no_motion <= 0) return std::nullopt;
  return scores.loss.ratio();
}

std::optional<double> LearnedOf(const StreamScores& scores) {
  if (scores.loss.predictions == 0) return std::nullopt;
  return static_cast<double>(scores.loss.learned_from) /
         static_cast<double>(scores.loss.predictions);
}

using Scores = pipeline::FlowScores;

constexpr EvaluationMetric kMetrics[] = {
    {"loss", "loss", "photometric loss",
     [](const StreamScores& s) { return std::optional(s.loss.loss); }},
    {"loss_no_motion", "of no motion", "photometric loss of no motion",
     [](const StreamScores& s) { return std::optional(s.loss.loss_no_motion); }},
    {"loss_ratio", "loss ratio", "photometric loss over that of no motion", RatioOf},
    {"gain", "gain", "gain (1: as good as DIS)",
     [](const StreamScores& s) { return s.loss.gain(); }},
    {"learned_share", "learned", "share of the frames learned from", LearnedOf},
    {"epe", "EPE px", "end-point error (px)", MeanBy<&Scores::error>, true},
    {"epe_visible", "visible", "end-point error of visible pixels (px)",
     MeanBy<&Scores::error_visible>, true},
    {"epe_hidden", "hidden", "end-point error of hidden pixels (px)", MeanBy<&Scores::error_hidden>,
     true},
    {"epe_under_1_px", "<1 px", "end-point error, motion under 1 px", MeanBy<&Scores::error_slow>,
     true},
    {"epe_1_to_10_px", "1-10 px", "end-point error, motion of 1 to 10 px",
     MeanBy<&Scores::error_medium>, true},
    {"epe_over_10_px", ">10 px", "end-point error, motion over 10 px", MeanBy<&Scores::error_fast>,
     true},
    {"fl", "Fl", "share of outliers (Fl)", MeanBy<&Scores::outlier>, true},
    {"angular_error_degrees", "angle", "angular error (degrees)", MeanBy<&Scores::angle>, true},
    {"ause", "AUSE", "sparsification error of the uncertainty (0: ideal, 1: random)",
     MeanBy<&Scores::ause>, true},
    {"uncertainty", "uncertainty", "expected end-point error (px)", MeanBy<&Scores::uncertainty>,
     true},
    {"motion_f1", "F1", "Motion-F1", [](const StreamScores& s) { return s.flow.motion.f1(); },
     true},
    {"reconstructed_0_05", "rec .05", "reconstruction accuracy within 0.05",
     MeanBy<&Scores::reconstructed>, true},
    {"reconstructed_0_025", "rec .025", "reconstruction accuracy within 0.025",
     MeanBy<&Scores::reconstructed_closely>, true},
};

}  // namespace

std::span<const EvaluationMetric> EvaluationMetrics() { return kMetrics; }

std::string PseudoMark(const EvaluationMetric& metric, const pipeline::FlowEvaluation& evaluation,
                       char separator) {
  if (!metric.of_truth || !evaluation.pseudo_truth) return "";
  return std::string("pseudo") + separator;
}

const EvaluationMetric& EvaluationMetricNamed(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kMetrics), std::end(kMetrics),
                   [name](const EvaluationMetric& metric) { return metric.name == name; });
  MILLRACE_CHECK(found != std::end(kMetrics));
  return *found;
}

std::vector<EvaluationGroup> GroupsOf(const pipeline::FlowEvaluation& evaluation) {
  std::vector<EvaluationGroup> groups;
  for (const pipeline::FlowEvaluation::Run& run : evaluation.runs) {
    if (groups.empty() || !groups.back().runs.front()->name.SameButSeed(run.name)) {
      groups.push_back({.name = run.name.Text(), .runs = {}});
    }
    groups.back().runs.push_back(&run);
  }
  return groups;
}

}  // namespace millrace::service
