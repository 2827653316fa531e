#include "service/console/summary.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/plural.h"
#include "service/frames/explained.h"
#include "service/web/labels_json.h"
#include "service/web/rate_plan_json.h"

namespace millrace::service {
namespace {

using nlohmann::json;

/// Values that exist for one stream and for all streams together.
struct Totals {
  FrameCounts frames;
  double rate_in = 0;
  double rate_out = 0;
  DelayHistogram delays;
  double loss = 0;
  double loss_no_motion = 0;
};

Totals TotalsOf(const StreamSummary& stream) {
  return {.frames = stream.snapshot.frames,
          .rate_in = stream.stats.rate_in,
          .rate_out = stream.stats.rate_out,
          .delays = stream.stats.delays,
          .loss = stream.snapshot.recent.loss,
          .loss_no_motion = stream.snapshot.recent.loss_no_motion};
}

Totals TotalsOf(std::span<const StreamSummary> streams) {
  Totals totals;
  const double share = streams.empty() ? 0 : 1 / static_cast<double>(streams.size());
  for (const StreamSummary& stream : streams) {
    const FrameCounts& frames = stream.snapshot.frames;
    totals.frames.received += frames.received;
    totals.frames.predicted += frames.predicted;
    totals.frames.in_flight += frames.in_flight;
    for (std::size_t i = 0; i < kDropReasons; ++i) totals.frames.dropped[i] += frames.dropped[i];
    totals.rate_in += stream.stats.rate_in;
    totals.rate_out += stream.stats.rate_out;
    totals.delays.Add(stream.stats.delays);
    totals.loss += share * stream.snapshot.recent.loss;
    totals.loss_no_motion += share * stream.snapshot.recent.loss_no_motion;
  }
  return totals;
}

json DroppedJson(const FrameCounts& frames) {
  json dropped = json::object();
  for (std::size_t i = 0; i < kDropReasons; ++i) {
    dropped[std::string(Name(static_cast<DropReason>(i)))] = frames.dropped[i];
  }
  return dropped;
}

json TotalsJson(const Totals& totals) {
  const bool known = totals.delays.count() > 0;
  const auto delay_ms = [&](double quantile) {
    return known ? json(totals.delays.QuantileSeconds(quantile) * 1e3) : json(nullptr);
  };
  return {{"frames_received", totals.frames.received},
          {"predicted", totals.frames.predicted},
          {"dropped", DroppedJson(totals.frames)},
          {"in_flight", totals.frames.in_flight},
          {"rate_in", totals.rate_in},
          {"rate_out", totals.rate_out},
          {"delay_ms", {{"p50", delay_ms(0.5)}, {"p99", delay_ms(0.99)}}},
          {"loss", known ? json(totals.loss) : json(nullptr)},
          {"loss_no_motion", known ? json(totals.loss_no_motion) : json(nullptr)},
          {"ratio_last_200",
           totals.loss_no_motion > 0 ? json(totals.loss / totals.loss_no_motion) : json(nullptr)}};
}

json StagesJson(const StreamSummary& stream) {
  json stages = json::array();
  for (const pipeline::StageDescription& stage : stream.learner.stages) {
    stages.push_back({{"layers", stage.layers},
                      {"device", stage.device},
                      {"forward_ms", stage.forward_ms},
                      {"backward_ms", stage.backward_ms},
                      {"update_ms", stage.update_ms},
                      {"staleness", stage.staleness},
                      {"mismatch", stage.mismatch}});
  }
  return stages;
}

json LearningJson(const StreamSnapshot& snapshot) {
  json not_learned_from = json::object();
  for (int reason = 1; reason < pipeline::kSkipReasons; ++reason) {
    not_learned_from[std::string(Name(static_cast<pipeline::SkipReason>(reason)))] =
        snapshot.skipped[reason];
  }
  const pipeline::LearningFigures& learning = snapshot.learning;
  return {{"not_learned_from", not_learned_from},
          {"roll_backs", learning.roll_backs},
          {"drifts", learning.drifts},
          {"learning_rate_ratio", learning.rate_scale},
          {"checkpoints",
           {{"written", learning.checkpoints.written}, {"failed", learning.checkpoints.failed}}}};
}

// Prequential scores; null without predictions.
json ScoresJson(const pipeline::ScoreSummary& scores) {
  const auto if_known = [](const std::optional<double>& value) {
    return value ? json(*value) : json(nullptr);
  };
  if (scores.predictions == 0) return nullptr;
  return {{"predictions", scores.predictions},
          {"learned_from", scores.learned_from},
          {"loss", scores.loss},
          {"loss_deviation", scores.loss_deviation},
          {"loss_no_motion", scores.loss_no_motion},
          {"loss_ratio", scores.ratio()},
          {"loss_reference", if_known(scores.loss_reference)},
          {"gain", if_known(scores.gain())}};
}

json WindowJson(const std::optional<pipeline::ScoreWindow>& window) {
  if (!window) return nullptr;
  json result = ScoresJson(window->summary);
  result["start_s"] = std::chrono::duration<double>(window->start).count();
  result["loss_p10"] = window->summary.loss_p10;
  result["loss_p90"] = window->summary.loss_p90;
  return result;
}

/// Means of the loss terms, without their weights.
json LossTermsJson(const StreamSummary& stream) {
  const RunStats& run = stream.stats;
  if (run.loss_term_sums.empty()) return nullptr;
  json terms = json::object();
  const auto names = pipeline::FlowLossTerms(stream.loss);
  const auto finite = static_cast<double>(run.predictions - run.not_finite);
  for (std::size_t i = 0; i < std::min(names.size(), run.loss_term_sums.size()); ++i) {
    terms[std::string(names[i])] = run.loss_term_sums[i] / finite;
  }
  return terms;
}

json StreamJson(const StreamSummary& stream) {
  json result = TotalsJson(TotalsOf(stream));
  result["name"] = stream.snapshot.name;
  result["source"] = stream.snapshot.uri;
  result["source_state"] = std::string(ingest::Name(stream.snapshot.source.state));
  result["epoch"] = stream.snapshot.source.epoch;
  result["reconnects"] = stream.snapshot.source.reconnects;
  result["error"] = std::string(stream.snapshot.learner.message());
  result["schedule"] = stream.learner.schedule;
  result["width"] = stream.learner.width;
  result["height"] = stream.learner.height;
  result["stages"] = StagesJson(stream);
  result["cuts"] = stream.learner.cuts();
  result["updates"] = stream.snapshot.updates;
  result["learning"] = LearningJson(stream.snapshot);
  result["labels"] = LabelsJson(stream.snapshot.labels);
  result["update_every"] = stream.snapshot.update_every;
  result["rate_plan"] = RatePlanJson(stream.learner.rate_plan);
  result["seconds"] = stream.stats.seconds;
  result["loss_terms"] = LossTermsJson(stream);
  result["scores"] = {{"whole", ScoresJson(stream.stats.scores)},
                      {"window", WindowJson(stream.stats.window)}};
  return result;
}

// Prequential quality: each prediction was scored before the model learned from its frame.
std::string ScoresText(const RunStats& run) {
  if (run.scores.loss_no_motion <= 0) return "";
  const pipeline::ScoreSummary& whole = run.scores;
  std::string text = absl::StrCat("  scores    ", ExplainedText(whole.loss, whole.loss_no_motion),
                                  " over the whole run");
  if (run.window) {
    const pipeline::ScoreSummary& last = run.window->summary;
    absl::StrAppend(&text, ", ", ExplainedShare(last.loss, last.loss_no_motion),
                    " in the last window");
  }
  if (whole.loss_reference) {
    absl::StrAppend(&text, "; the reference ",
                    ExplainedShare(*whole.loss_reference, whole.loss_no_motion));
  }
  return text + "\n";
}

std::string DroppedText(const FrameCounts& frames) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < kDropReasons; ++i) {
    if (frames.dropped[i] == 0) continue;
    parts.push_back(
        absl::StrCat(std::string(Name(static_cast<DropReason>(i))), " ", frames.dropped[i]));
  }
  return parts.empty() ? "" : absl::StrCat(" (", absl::StrJoin(parts, ", "), ")");
}

// The number of predictions learned from, and events such as roll-backs.
std::string LearningText(const StreamSnapshot& snapshot) {
  std::vector<std::string> reasons;
  std::uint64_t skipped = 0;
  for (int reason = 1; reason < pipeline::kSkipReasons; ++reason) {
    if (snapshot.skipped[reason] == 0) continue;
    skipped += snapshot.skipped[reason];
    reasons.push_back(absl::StrCat(std::string(Name(static_cast<pipeline::SkipReason>(reason))),
                                   " ", snapshot.skipped[reason]));
  }
  std::string text =
      absl::StrCat("  learned   from ", Plural(snapshot.frames.predicted - skipped, "prediction"));
  if (skipped > 0) {
    absl::StrAppend(&text, ", not from ", skipped, " (", absl::StrJoin(reasons, ", "), ")");
  }
  const pipeline::LearningFigures& learning = snapshot.learning;
  if (learning.roll_backs > 0) {
    absl::StrAppend(&text, ", rolled back ", Plural(learning.roll_backs, "time"));
  }
  if (learning.rate_scale == 0) absl::StrAppend(&text, ", then stopped learning");
  if (learning.drifts > 0) absl::StrAppend(&text, ", ", Plural(learning.drifts, "drift"));
  const pipeline::CheckpointFigures& checkpoints = learning.checkpoints;
  if (checkpoints.written + checkpoints.failed > 0) {
    absl::StrAppend(&text, ", ", Plural(checkpoints.written, "checkpoint"));
  }
  if (checkpoints.failed > 0) {
    absl::StrAppend(&text, " and ", checkpoints.failed, " that could not be written");
  }
  return text + "\n";
}

// Labels by outcome, and the score of the labelled predictions.
std::string LabelsText(const std::optional<LabelCounts>& counts) {
  if (!counts) return "";
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < kLabelOutcomes; ++i) {
    if (i > 0 && counts->labels[i] == 0) continue;
    parts.push_back(
        absl::StrCat(counts->labels[i], " ", std::string(Name(static_cast<LabelOutcome>(i)))));
  }
  std::string text = absl::StrCat("  labels    ", absl::StrJoin(parts, ", "));
  if (counts->scored > 0 && counts->task == pipeline::LabelTask::kClassification) {
    absl::StrAppendFormat(&text, "; %.1f %% right, %.1f %% of the last 200", 100 * counts->score(),
                          100 * counts->recent_score);
  } else if (counts->scored > 0) {
    absl::StrAppendFormat(&text, "; squared error %.4g, %.4g of the last 200", counts->score(),
                          counts->recent_score);
  }
  return text + "\n";
}

// The loss of the newest predictions.
std::string LossText(const RecentLearning& recent) {
  if (!(recent.loss_no_motion > 0)) return "";
  return absl::StrFormat("  loss      %.4f, no motion's %.4f: %s%s (last 200)\n", recent.loss,
                         recent.loss_no_motion, ExplainedText(recent.loss, recent.loss_no_motion),
                         recent.sees_spurious_motion() ? ", sees motion where nothing moves" : "");
}

// "gate: no frame came: rtsp://camera/1: no route to host".
std::string TitleOf(const StreamSummary& stream) {
  const FrameCounts& frames = stream.snapshot.frames;
  if (frames.predicted > 0) {
    return absl::StrFormat("%s: %s in %.1f s", stream.snapshot.name,
                           Plural(frames.predicted, "prediction"), stream.stats.seconds);
  }
  const std::string why(stream.snapshot.source.cause.message());
  return absl::StrCat(stream.snapshot.name,
                      frames.received > 0 ? ": no prediction" : ": no frame came",
                      why.empty() ? "" : absl::StrCat(": ", why));
}

std::string StreamText(const StreamSummary& stream) {
  const FrameCounts& frames = stream.snapshot.frames;
  std::string text = TitleOf(stream) + "\n";
  absl::StrAppend(&text, "  frames    ", frames.received, " received = ", frames.predicted,
                  " predicted + ", frames.dropped_in_all(), " dropped", DroppedText(frames), " + ",
                  frames.in_flight, " in flight\n");
  if (frames.predicted == 0) return text;
  const RunStats& run = stream.stats;
  absl::StrAppendFormat(&text, "  rate      %.2f/s in, %.2f/s out\n", run.rate_in, run.rate_out);
  absl::StrAppendFormat(&text, "  delay     %.0f ms, p99 %.0f ms\n",
                        run.delays.QuantileSeconds(0.5) * 1e3,
                        run.delays.QuantileSeconds(0.99) * 1e3);
  absl::StrAppend(&text, LossText(stream.snapshot.recent));
  absl::StrAppend(&text, ScoresText(run), LabelsText(stream.snapshot.labels),
                  LearningText(stream.snapshot));
  absl::StrAppend(&text, "  updates   ", absl::StrJoin(stream.snapshot.updates, " "),
                  " by stage\n");
  return text;
}

}  // namespace

StreamSummary Summarise(const ServedStream& served) {
  return {.snapshot = served.stream->Snapshot(),
          .stats = served.record->Stats(),
          .learner = *served.stream->learner(),
          .loss = served.stream->config().flow.loss};
}

std::string SummaryText(std::span<const StreamSummary> streams) {
  std::string text;
  for (const StreamSummary& stream : streams) text += StreamText(stream);
  return text;
}

json SummaryJson(std::span<const StreamSummary> streams) {
  json result = TotalsJson(TotalsOf(streams));
  result["version"] = MILLRACE_VERSION;
  result["streams"] = json::array();
  for (const StreamSummary& stream : streams) result["streams"].push_back(StreamJson(stream));
  return result;
}

}  // namespace millrace::service
