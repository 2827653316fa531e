#include "service/commands/evaluate/evaluation_json.h"

#include <chrono>
#include <optional>

#include <nlohmann/json.hpp>

#include "pipeline/evaluation/retention.h"
#include "pipeline/learner/flow_loss_options.h"
#include "service/commands/evaluate/evaluation_metrics.h"

namespace millrace::service {
namespace {

using nlohmann::json;
using pipeline::FlowEvaluation;

json ScoresJson(const pipeline::StreamScores& scores) {
  json figures = {{"pairs", scores.loss.predictions}};
  for (const EvaluationMetric& metric : EvaluationMetrics()) {
    const std::optional<double> value = metric.of(scores);
    if (value) figures[std::string(metric.name)] = *value;
  }
  return figures;
}

json StreamJson(const pipeline::ScoredStream& stream) {
  json windows = json::array();
  for (const pipeline::WindowScores& window : stream.windows) {
    json figures = ScoresJson(window.scores);
    figures["start_s"] = std::chrono::duration<double>(window.start).count();
    figures["loss_p10"] = window.scores.loss.loss_p10;
    figures["loss_p90"] = window.scores.loss.loss_p90;
    windows.push_back(std::move(figures));
  }
  return {{"whole", ScoresJson(stream.whole)}, {"windows", std::move(windows)}};
}

json FrozenJson(const pipeline::FlowRunResult::Frozen& test) {
  json figures = ScoresJson(test.scores);
  figures["on"] = test.name;
  if (test.initial) figures["initial"] = ScoresJson(*test.initial);
  if (test.right_after) figures["right_after"] = ScoresJson(*test.right_after);
  if (const auto forgetting = pipeline::Forgetting(test)) figures["forgetting"] = *forgetting;
  if (const auto transfer = pipeline::Transfer(test)) figures["transfer"] = *transfer;
  return figures;
}

json RunJson(const FlowEvaluation::Run& run) {
  const pipeline::FlowRunResult& result = run.result;
  json frozen = json::array();
  for (const auto& test : result.frozen) frozen.push_back(FrozenJson(test));
  json described = {{"network", run.name.network},
                    {"schedule", run.name.schedule},
                    {"stages", run.name.stages},
                    {"seed", run.name.seed},
                    {"cuts", run.cuts},
                    {"pairs", result.pairs},
                    {"dropped", result.dropped},
                    {"updates", result.updates},
                    {"roll_backs", result.learning.roll_backs},
                    {"drifts", result.learning.drifts},
                    {"model", StreamJson(result.model)},
                    {"frozen", std::move(frozen)}};
  if (run.name.camera_rate > 0) {
    described["camera_rate"] = run.name.camera_rate;
    described["step_ms"] = run.step_ms;
  }
  if (run.switch_at) described["switch_at"] = *run.switch_at;
  if (result.streaming) described["streaming"] = StreamJson(*result.streaming);
  return described;
}

}  // namespace

std::string EvaluationJson(const pipeline::FlowEvaluationOptions& options,
                           const FlowEvaluation& evaluation, const std::string& command) {
  json clips = json::array();
  for (std::size_t i = 0; i < options.clips.size(); ++i) {
    const pipeline::ClipSource& clip = options.clips[i];
    clips.push_back({{"name", clip.name},
                     {"width", clip.width},
                     {"height", clip.height},
                     {"pairs", evaluation.pairs[i]}});
  }
  json references = json::array();
  for (const FlowEvaluation::Reference& reference : evaluation.references) {
    json described = StreamJson(reference.scores);
    described["name"] = reference.name;
    described["clip"] = options.clips[reference.clip].name;
    references.push_back(std::move(described));
  }
  json runs = json::array();
  for (const FlowEvaluation::Run& run : evaluation.runs) {
    runs.push_back(RunJson(run));
    runs.back()["smoothness"] =
        options.smoothness.value_or(pipeline::UsualSmoothness(run.name.network));
  }
  const json all = {
      {"millrace", MILLRACE_VERSION},
      {"command", command},
      {"task", options.task.next_frame ? "next_frame" : "flow"},
      {"learning_rate", options.learner.optimizer.learning_rate},
      {"loss", pipeline::FlowLossNames()[static_cast<std::size_t>(options.task.loss.kind)]},
      {"weights", options.weights},
      {"window_s", std::chrono::duration<double>(options.window).count()},
      {"clips", std::move(clips)},
      {"references", std::move(references)},
      {"runs", std::move(runs)}};
  // File names may be invalid UTF-8.
  return all.dump(2, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace) + "\n";
}

}  // namespace millrace::service
