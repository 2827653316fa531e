#include "service/commands/evaluate/evaluation_json.h"

#include <chrono>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "pipeline/evaluation/retention.h"
#include "pipeline/learner/flow_loss_options.h"
#include "service/commands/evaluate/evaluation_metrics.h"

namespace millrace::service {
namespace {

using nlohmann::json;
using pipeline::FlowEvaluation;

json OptimizerJson(const pipeline::OptimizerOptions& optimizer) {
  return {{"kind", pipeline::OptimizerNames().at(static_cast<std::size_t>(optimizer.kind))},
          {"learning_rate", optimizer.learning_rate},
          {"momentum", optimizer.momentum},
          {"nesterov", optimizer.nesterov},
          {"spike_compensation", optimizer.spike_compensation},
          {"weight_decay", optimizer.weight_decay},
          {"beta1", optimizer.beta1},
          {"beta2", optimizer.beta2},
          {"eps", optimizer.eps},
          {"clip_norm", optimizer.clip_norm},
          {"clip_update", optimizer.clip_update},
          {"pipemare_steps", optimizer.pipemare_steps}};
}

// By stage; null for a stage without two updates, and on a GPU.
json CosinesJson(const pipeline::FlowRunResult& result) {
  json cosines = json::array();
  for (const std::optional<double>& cosine : result.update_cosines) {
    cosines.push_back(cosine ? json(*cosine) : json());
  }
  return cosines;
}

json StalenessJson(const pipeline::FlowRunResult& result) {
  json staleness = json::array();
  for (const pipeline::StageDescription& stage : result.stages) {
    staleness.push_back(stage.staleness);
  }
  return staleness;
}

// Makes the JSON of one evaluation's parts.
class Writer {
 public:
  Writer(const pipeline::FlowEvaluationOptions& options, const FlowEvaluation& evaluation)
      : options_(options), evaluation_(evaluation) {}

  json ScoresJson(const pipeline::StreamScores& scores) const {
    json figures = {{"pairs", scores.loss.predictions}};
    for (const EvaluationMetric& metric : EvaluationMetrics()) {
      const std::optional<double> value = metric.of(scores);
      const std::string name = PseudoMark(metric, evaluation_, '_') + std::string(metric.name);
      if (value) figures[name] = *value;
    }
    return figures;
  }

  json StreamJson(const pipeline::ScoredStream& stream) const {
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

  json FrozenJson(const pipeline::FlowRunResult::Frozen& test) const {
    json figures = ScoresJson(test.scores);
    figures["on"] = test.name;
    if (test.initial) figures["initial"] = ScoresJson(*test.initial);
    if (test.right_after) figures["right_after"] = ScoresJson(*test.right_after);
    if (const auto forgetting = pipeline::Forgetting(test)) figures["forgetting"] = *forgetting;
    if (const auto transfer = pipeline::Transfer(test)) figures["transfer"] = *transfer;
    return figures;
  }

  json RunJson(const FlowEvaluation::Run& run) const {
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
                      {"update_cosines", CosinesJson(result)},
                      {"staleness", StalenessJson(result)},
                      {"roll_backs", result.learning.roll_backs},
                      {"drifts", result.learning.drifts},
                      {"model", StreamJson(result.model)},
                      {"frozen", std::move(frozen)}};
    described["optimizer"] = OptimizerJson(run.optimizer);
    if (run.name.camera_rate > 0) {
      described["camera_rate"] = run.name.camera_rate;
      if (evaluation_.real_time) {
        described["real_time"] = true;
      } else {
        described["step_ms"] =
            options_.step_ms > 0 ? options_.step_ms : pipeline::TotalOf(run.costs);
      }
    }
    if (run.switch_at) described["switch_at"] = *run.switch_at;
    if (result.streaming) described["streaming"] = StreamJson(*result.streaming);
    return described;
  }

 private:
  const pipeline::FlowEvaluationOptions& options_;
  const FlowEvaluation& evaluation_;
};

// null: the true motion is unknown.
json TruthOf(const FlowEvaluation& evaluation) {
  if (evaluation.pseudo_truth) return "pseudo";
  for (const FlowEvaluation::Run& run : evaluation.runs) {
    if (run.result.model.whole.flow.error.count() > 0) return "exact";
  }
  return nullptr;
}

json EvaluationOf(const pipeline::FlowEvaluationOptions& options, const FlowEvaluation& evaluation,
                  const std::string& command) {
  const Writer writer(options, evaluation);
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
    json described = writer.StreamJson(reference.scores);
    described["name"] = reference.name;
    described["clip"] = options.clips[reference.clip].name;
    references.push_back(std::move(described));
  }
  json runs = json::array();
  for (const FlowEvaluation::Run& run : evaluation.runs) {
    runs.push_back(writer.RunJson(run));
    runs.back()["smoothness"] = options.SmoothnessOf(run.name.network);
  }
  return {{"millrace", MILLRACE_VERSION},
          {"command", command},
          {"task", options.task.next_frame ? "next_frame" : "flow"},
          {"learning_rate", options.learner.optimizer.learning_rate},
          {"loss", pipeline::FlowLossNames()[static_cast<std::size_t>(options.task.loss.kind)]},
          {"weights", options.weights},
          {"truth", TruthOf(evaluation)},
          {"window_s", std::chrono::duration<double>(options.window).count()},
          {"clips", std::move(clips)},
          {"references", std::move(references)},
          {"runs", std::move(runs)}};
}

// File names may be invalid UTF-8.
std::string TextOf(const json& all) {
  return all.dump(2, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string EvaluationJson(const pipeline::FlowEvaluationOptions& options,
                           const FlowEvaluation& evaluation, const std::string& command) {
  return TextOf(EvaluationOf(options, evaluation, command));
}

std::string PairsJson(const std::vector<EvaluatedPairs>& all, const std::string& command) {
  json lines = json::array();
  for (const EvaluatedPairs& pairs : all) {
    lines.push_back(EvaluationOf(pairs.options, pairs.evaluation, command));
    lines.back()["name"] = pairs.name;
  }
  return TextOf(
      {{"millrace", MILLRACE_VERSION}, {"command", command}, {"lines", std::move(lines)}});
}

}  // namespace millrace::service
