#include "service/web/live_page_json.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "service/frames/windows.h"
#include "service/overload/overload_text.h"
#include "service/web/labels_json.h"
#include "service/web/rate_plan_json.h"

namespace millrace::service {
namespace {

using nlohmann::json;

std::string Text(std::string_view text) { return std::string(text); }

json SourceJson(const StreamSnapshot& snapshot) {
  const ingest::SourceStatus& source = snapshot.source;
  return {{"uri", snapshot.uri},
          {"state", Text(ingest::Name(source.state))},
          {"cause", std::string(source.cause.message())},
          {"epoch", source.epoch},
          {"reconnects", source.reconnects},
          {"width", source.camera_width},
          {"height", source.camera_height},
          {"frames_per_second", source.camera_frames_per_second}};
}

/// Null if unknown.
json LoadJson(const std::vector<StageLoad>& loads, std::size_t stage) {
  if (stage >= loads.size()) return nullptr;
  return {{"predicting", loads[stage].predicting}, {"learning", loads[stage].learning}};
}

/// The device of a stage. With several hosts, also its process and busiest link: "rank 1: process
/// 17 on gpu2, sends to rank 0 for 12 % of the time".
std::string DeviceText(const pipeline::StageDescription& stage, const StreamSnapshot& snapshot) {
  std::string text = stage.rank == 0 ? stage.device : absl::StrCat("rank ", stage.rank);
  if (stage.rank > 0 && snapshot.ranks && stage.rank < std::ssize(snapshot.ranks->names)) {
    absl::StrAppend(&text, ": ", snapshot.ranks->names[stage.rank]);
  }
  std::vector<LinkLoad> sent = snapshot.links;
  std::erase_if(sent, [&](const LinkLoad& link) { return link.from != stage.rank; });
  if (const std::optional<LinkLoad> busiest = BusiestOf(sent)) {
    absl::StrAppendFormat(&text, ", sends to rank %d for %.0f %% of the time", busiest->to,
                          100 * std::min(busiest->share, 1.0));
  }
  return text;
}

json StagesJson(const pipeline::LearnerDescription& learner, const StreamSnapshot& snapshot) {
  const std::vector<std::int64_t>& updates = snapshot.updates;
  json stages = json::array();
  for (std::size_t i = 0; i < learner.stages.size(); ++i) {
    const pipeline::StageDescription& stage = learner.stages[i];
    stages.push_back({{"layers", stage.layers},
                      {"device", DeviceText(stage, snapshot)},
                      {"forward_ms", stage.forward_ms},
                      {"backward_ms", stage.backward_ms},
                      {"update_ms", stage.update_ms},
                      {"staleness", stage.staleness},
                      {"mismatch", stage.mismatch},
                      {"load", LoadJson(snapshot.loads, i)},
                      {"updates", i < updates.size() ? updates[i] : 0}});
  }
  return stages;
}

json TaskJson(const std::optional<pipeline::LabelledTask>& labels) {
  if (!labels) return nullptr;
  return {{"classes", labels->task == pipeline::LabelTask::kClassification},
          {"names", labels->classes},
          {"window", labels->window}};
}

/// Predictions without an update, by reason.
json SkippedJson(const StreamSnapshot& snapshot) {
  json skipped = json::object();
  for (int reason = 1; reason < pipeline::kSkipReasons; ++reason) {
    skipped[Text(Name(static_cast<pipeline::SkipReason>(reason)))] = snapshot.skipped[reason];
  }
  return skipped;
}

json LearnerJson(const CameraStream& stream, const StreamSnapshot& snapshot) {
  const auto description = stream.learner();
  const pipeline::LearnerDescription& learner = *description;
  return {{"ok", snapshot.learner.ok()},
          {"cause", LearnerCause(snapshot)},
          {"state", Text(Name(snapshot.learner_state))},
          {"schedule", learner.schedule},
          {"labels", TaskJson(learner.labels)},
          {"weights", stream.config().learner.weights},
          {"learning_rate", snapshot.learning_rate},
          {"width", learner.width},
          {"height", learner.height},
          {"samples_per_second", learner.samples_per_second},
          {"sequential_samples_per_second", learner.sequential_samples_per_second},
          {"delay_ms", learner.delay_ms},
          {"update_every", snapshot.update_every},
          {"skipped", SkippedJson(snapshot)},
          {"roll_backs", snapshot.learning.roll_backs},
          {"keeps_checkpoints", !stream.config().learner.checkpoints.folder.empty()},
          {"rate_plan", RatePlanJson(learner.rate_plan)},
          {"stages", StagesJson(learner, snapshot)}};
}

/// A suggestion is 0 or null if no value of its key would help.
json OverloadJson(const Overload& overload) {
  const Remedies& remedies = overload.remedies;
  json input = nullptr;
  if (remedies.width > 0) input = {remedies.width, remedies.height};
  return {{"kind", Text(Name(overload.kind))},
          {"rate_in", overload.received_per_second},
          {"rate_out", overload.predicted_per_second},
          {"dropped_per_second", overload.dropped_per_second},
          {"max_fps", remedies.max_fps},
          {"input", input},
          {"stages", remedies.stages},
          {"cause", DescribeOverload(overload)},
          {"remedy", DescribeRemedies(overload)}};
}

json PromiseJson(const Promise& promise) {
  return {{"frames_per_second", promise.frames_per_second},
          {"delay_ms", 1e3 * promise.delay_s},
          {"rate_kept", promise.rate_kept},
          {"delay_kept", promise.delay_kept}};
}

json FramesJson(const FrameCounts& frames) {
  json dropped = json::object();
  for (std::size_t reason = 0; reason < kDropReasons; ++reason) {
    dropped[Text(Name(static_cast<DropReason>(reason)))] = frames.dropped[reason];
  }
  return {{"received", frames.received},
          {"predicted", frames.predicted},
          {"in_flight", frames.in_flight},
          {"dropped", dropped}};
}

json NewestJson(const Prediction* newest) {
  if (newest == nullptr) return nullptr;
  json result = {{"frame", newest->frame_number},
                 {"epoch", newest->epoch},
                 {"delay_ms", static_cast<double>(newest->delay.count()) / 1e6},
                 {"delay_frames", newest->delay_frames},
                 {"finite", newest->model.finite},
                 {"next_frame", newest->next_frame}};
  if (newest->model.outputs != nullptr) {
    result["outputs"] = *newest->model.outputs;
    result["best_class"] = newest->model.best_class;
    result["labelled"] = newest->model.labelled;
  }
  return result;
}

/// `reference`: the method that predictions are compared with; empty: no method.
json RecentJson(const RecentLearning& recent, const std::string& reference) {
  const std::optional<double> explained = recent.explained();
  return {{"predictions", recent.predictions},
          {"window", kLossWindow},
          {"explained", explained ? json(*explained) : json(nullptr)},
          {"sees_spurious_motion", recent.sees_spurious_motion()},
          {"spurious_share", recent.spurious_share},
          {"reference",
           recent.gain ? json{{"name", reference}, {"gain", *recent.gain}} : json(nullptr)}};
}

json HistoryJson(const std::vector<LossPoint>& history) {
  json points = json::array();
  for (const LossPoint& point : history) {
    points.push_back({point.second, point.loss, point.loss_no_motion, point.recent_loss,
                      point.recent_loss_no_motion});
  }
  return points;
}

}  // namespace

json LivePageStreamJson(const ServedStream& served, const Prediction* newest,
                        const std::vector<LossPoint>& history) {
  const CameraStream& stream = *served.stream;
  const StreamSnapshot snapshot = stream.Snapshot();
  const std::string& reference = stream.config().scores.compare_with;
  return {{"name", snapshot.name},
          {"run", served.run_id},
          {"source", SourceJson(snapshot)},
          {"learner", LearnerJson(stream, snapshot)},
          {"frames", FramesJson(snapshot.frames)},
          {"overload", OverloadJson(snapshot.overload)},
          {"promise", PromiseJson(snapshot.promise)},
          {"rate_in", snapshot.frames_per_second_in},
          {"rate_out", snapshot.predictions_per_second},
          {"delay_p50_ms", snapshot.delay_p50_s * 1e3},
          {"delay_p99_ms", snapshot.delay_p99_s * 1e3},
          {"loss", snapshot.recent.loss},
          {"loss_no_motion", snapshot.recent.loss_no_motion},
          {"recent", RecentJson(snapshot.recent, reference)},
          {"compare_with", reference == "none" ? json(nullptr) : json(reference)},
          {"labels", LabelsJson(snapshot.labels)},
          {"newest", NewestJson(newest)},
          {"history", HistoryJson(history)}};
}

}  // namespace millrace::service
