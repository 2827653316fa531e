#include "service/metrics/metrics_stream.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/metrics/metrics_family.h"
#include "service/metrics/metrics_labels.h"
#include "service/metrics/metrics_states.h"

namespace millrace::service {
namespace {

using pipeline::SkipReason;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Families = std::vector<MetricFamily>;
using Value = std::function<std::optional<double>(const StreamReading&)>;

/// A family with one sample for each stream that has a value.
MetricFamily PerStream(std::string name, std::string help, MetricType type,
                       const StreamReadings& readings, const Value& value) {
  MetricBuilder family(std::move(name), std::move(help), type);
  for (const StreamReading& reading : readings) {
    const std::optional<double> known = value(reading);
    if (known) family.Add({{"stream", reading.snapshot.name}}, *known);
  }
  return family.Take();
}

/// A counter for each stream.
MetricFamily Counted(std::string name, std::string help, const StreamReadings& readings,
                     const Value& value) {
  return PerStream(std::move(name), std::move(help), MetricType::Counter, readings, value);
}

bool OfLabels(const StreamReading& reading) { return reading.snapshot.labels.has_value(); }

/// A gauge for each stream.
MetricFamily Gauged(std::string name, std::string help, const StreamReadings& readings,
                    const Value& value) {
  return PerStream(std::move(name), std::move(help), MetricType::Gauge, readings, value);
}

void AppendIngest(const StreamReadings& readings, Families& families) {
  families.push_back(Counted("millrace_ingest_frames_received_total",
                             "Frames that the source delivered.", readings,
                             [](const auto& r) { return r.snapshot.frames.received; }));
  families.push_back(PerStream(
      "millrace_ingest_source_state",
      absl::StrCat("What the source is doing, by the number that the API gives it: ", SourceCodes(),
                   "."),
      MetricType::Gauge, readings, [](const auto& r) { return CodeOf(r.snapshot.source.state); }));
  families.push_back(Counted("millrace_ingest_source_transitions_total",
                             "How often the source has come into another state; the log has a line "
                             "for each, those of further tries at the level debug.",
                             readings, [](const auto& r) {
                               const auto& entered = r.snapshot.source.entered;
                               return std::accumulate(entered.begin(), entered.end(),
                                                      std::int64_t{0});
                             }));
  families.push_back(Counted("millrace_ingest_reconnects_total",
                             "Camera sessions begun after the first.", readings,
                             [](const auto& r) { return r.snapshot.source.reconnects; }));
  families.push_back(
      Gauged("millrace_ingest_announced_frames_per_second",
             "The camera's own frame rate, as it states it; 0 while it is not known.", readings,
             [](const auto& r) { return r.snapshot.source.camera_frames_per_second; }));
}

/// Whether the stream can drop a frame for this reason: streams with labels need no neighbouring
/// frames, and most need no other hosts.
bool MayBe(DropReason reason, const StreamReading& reading) {
  const bool of_pairs = reason == DropReason::kNoPredecessor || reason == DropReason::kGap;
  if (reason == DropReason::kRanksLost) return reading.snapshot.ranks.has_value();
  return !of_pairs || !OfLabels(reading);
}

MetricFamily DroppedFamily(const StreamReadings& readings) {
  MetricBuilder family("millrace_service_frames_dropped_total",
                       "Frames that got no prediction, by reason.", MetricType::Counter);
  for (const StreamReading& reading : readings) {
    for (std::size_t i = 0; i < kDropReasons; ++i) {
      const auto reason = static_cast<DropReason>(i);
      if (!MayBe(reason, reading)) continue;
      family.Add({{"stream", reading.snapshot.name}, {"reason", std::string(Name(reason))}},
                 static_cast<double>(reading.snapshot.frames.dropped[i]));
    }
  }
  return family.Take();
}

MetricFamily DelayFamily(const StreamReadings& readings) {
  MetricBuilder family("millrace_service_prediction_delay_seconds",
                       "From a frame's arrival to its prediction.", MetricType::Histogram);
  for (const StreamReading& reading : readings) {
    family.Add({{"stream", reading.snapshot.name}}, reading.delays);
  }
  return family.Take();
}

void AppendFrames(const StreamReadings& readings, Families& families) {
  families.push_back(Counted("millrace_service_frames_predicted_total",
                             "Frames that got a prediction.", readings,
                             [](const auto& r) { return r.snapshot.frames.predicted; }));
  families.push_back(DroppedFamily(readings));
  families.push_back(DelayFamily(readings));
}

// (no motion - model) / (no motion - reference). NaN if undefined, so that the series exists from
// the start.
double Gain(const StreamReading& reading) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const auto& window = reading.stats.window;
  return window ? window->summary.gain().value_or(kNone) : kNone;
}

void AppendLosses(const StreamReadings& readings, Families& families) {
  families.push_back(Counted("millrace_pipeline_loss_total",
                             "Sum of the losses of all finite predictions. Its rate over that of "
                             "millrace_pipeline_loss_no_motion_total is the ratio of any window.",
                             readings, [](const auto& r) { return r.stats.loss_sum; }));
  families.push_back(Counted("millrace_pipeline_loss_no_motion_total",
                             "Sum of the losses of no motion on the same frames; not of streams "
                             "that learn from labels.",
                             readings, [](const auto& r) -> std::optional<double> {
                               if (OfLabels(r)) return std::nullopt;
                               return r.stats.loss_no_motion_sum;
                             }));
  families.push_back(PerStream(
      "millrace_pipeline_window_gain_ratio",
      "(no motion - model) / (no motion - reference), of the last full window (scores.window_s) "
      "of the stream's own time. At 1 the model explains the pictures as well as the reference. "
      "Only of streams with scores.compare_with; NaN before the first full window, and where "
      "the reference is no better than no motion.",
      MetricType::Gauge, readings, [](const auto& r) -> std::optional<double> {
        if (!r.compared) return std::nullopt;
        return Gain(r);
      }));
}

/// Reasons for skipped updates, grouped for an operator.
constexpr std::array kSkipGroups = {"unwanted", "no_time", "implausible"};

std::size_t GroupOf(SkipReason reason) {
  switch (reason) {
    case SkipReason::kRate:
      return 1;
    case SkipReason::kNonFinite:
    case SkipReason::kLeavesPicture:
    case SkipReason::kTooFast:
      return 2;
    default:  // A static or unsuitable picture, the policy, a missing label, or a frozen learner.
      return 0;
  }
}

MetricFamily SkippedFamily(const StreamReadings& readings) {
  MetricBuilder family("millrace_pipeline_updates_skipped_total",
                       "Predictions that nothing was learned from, by reason.",
                       MetricType::Counter);
  for (const StreamReading& reading : readings) {
    std::array<std::uint64_t, kSkipGroups.size()> skipped = {};
    for (int reason = 1; reason < pipeline::kSkipReasons; ++reason) {
      skipped[GroupOf(static_cast<SkipReason>(reason))] += reading.snapshot.skipped[reason];
    }
    for (std::size_t i = 0; i < skipped.size(); ++i) {
      family.Add({{"stream", reading.snapshot.name}, {"reason", kSkipGroups[i]}},
                 static_cast<double>(skipped[i]));
    }
  }
  return family.Take();
}

/// Updates of the stage with the fewest: every stage has learned at least this often.
double Updates(const StreamSnapshot& snapshot) {
  if (snapshot.updates.empty()) return 0;
  return static_cast<double>(*std::ranges::min_element(snapshot.updates) -
                             snapshot.updates_at_start);
}

/// The load of the busiest stage. NaN if the load is unknown, as on GPUs.
double MaxLoad(const StreamReading& reading) {
  double max = std::numeric_limits<double>::quiet_NaN();
  for (const StageLoad& load : reading.snapshot.loads) {
    max = std::fmax(max, load.predicting + load.learning);
  }
  return max;
}

void AppendPromise(const StreamReadings& readings, Families& families) {
  families.push_back(
      Gauged("millrace_service_overload",
             absl::StrCat("The dropped work while the camera has sent more than the model has time "
                          "for, for ten seconds. By the API's number: ",
                          OverloadCodes(), "."),
             readings, [](const auto& r) { return CodeOf(r.snapshot.overload.kind); }));
  families.push_back(Gauged(
      "millrace_pipeline_promised_frames_per_second",
      "Predictions a second that the plan promises, by the costs that were measured: at most the "
      "camera's frame rate and source.max_fps.",
      readings, [](const auto& r) { return r.snapshot.promise.frames_per_second; }));
  families.push_back(Gauged("millrace_pipeline_promised_delay_seconds",
                            "The delay that the plan promises, by the costs that were measured.",
                            readings, [](const auto& r) { return r.snapshot.promise.delay_s; }));
  families.push_back(Gauged(
      "millrace_pipeline_busiest_stage_load_ratio",
      "Share of the last ten seconds in which the stage that works most has worked. Near 1 it "
      "sets the pace of all. NaN where it is not known, as on GPUs.",
      readings, MaxLoad));
  families.push_back(Gauged("millrace_pipeline_update_every",
                            "From every which frame the learner has time to learn; 0: from none.",
                            readings, [](const auto& r) { return r.snapshot.update_every; }));
}

void AppendLearning(const StreamReadings& readings, Families& families) {
  families.push_back(PerStream(
      "millrace_pipeline_learner_state",
      absl::StrCat(
          "What the learner is doing, by the number that the API gives it: ", LearnerCodes(), "."),
      MetricType::Gauge, readings, [](const auto& r) { return CodeOf(r.snapshot.learner_state); }));
  families.push_back(Counted("millrace_pipeline_updates_total",
                             "Updates that the weights of every stage have got from this process: "
                             "of the stage that has got the fewest.",
                             readings, [](const auto& r) { return Updates(r.snapshot); }));
  families.push_back(SkippedFamily(readings));
  families.push_back(Counted("millrace_pipeline_roll_backs_total",
                             "Times that the weights had gone wrong and older ones that had proven "
                             "good took their place.",
                             readings,
                             [](const auto& r) { return r.snapshot.learning.roll_backs; }));
  families.push_back(
      Counted("millrace_pipeline_drifts_total",
              "Times that the loss, relative to that of no motion, rose for good: the camera shows "
              "something else than before. For labels: the loss of new labels.",
              readings, [](const auto& r) { return r.snapshot.learning.drifts; }));
  families.push_back(
      PerStream("millrace_pipeline_checkpoint_timestamp_seconds",
                "When the last checkpoint was written, since 1970; before the first, "
                "when the learner began. Only of streams that keep checkpoints.",
                MetricType::Gauge, readings, [](const auto& r) -> std::optional<double> {
                  const auto until = r.snapshot.learning.checkpoints.kept_until;
                  if (!until) return std::nullopt;
                  return std::chrono::duration<double>(*until).count();
                }));
}

MetricFamily SentFamily(const StreamReadings& readings) {
  MetricBuilder family(
      "millrace_pipeline_link_bytes_total",
      "Bytes of samples that one process of a network has sent to another one, by rank: inputs, "
      "activations and gradients.",
      MetricType::Counter);
  for (const StreamReading& reading : readings) {
    if (!reading.snapshot.ranks) continue;
    for (const pipeline::LinkFigures& link : reading.snapshot.ranks->links) {
      if (link.bytes == 0) continue;
      family.Add({{"stream", reading.snapshot.name},
                  {"from", absl::StrCat(link.from)},
                  {"to", absl::StrCat(link.to)}},
                 static_cast<double>(link.bytes));
    }
  }
  return family.Take();
}

/// Of streams whose network runs on several hosts.
void AppendRanks(const StreamReadings& readings, Families& families) {
  const auto of_ranks = [](auto member) {
    return [member](const StreamReading& reading) -> std::optional<double> {
      const std::optional<pipeline::RankFigures>& ranks = reading.snapshot.ranks;
      if (!ranks) return std::nullopt;
      return static_cast<double>((*ranks).*member);
    };
  };
  families.push_back(
      Gauged("millrace_pipeline_ranks_expected",
             "Processes that the network needs, the server included. Only of streams "
             "with schedule.stages_on.",
             readings, of_ranks(&pipeline::RankFigures::expected)));
  families.push_back(
      Gauged("millrace_pipeline_ranks_joined",
             "Those of them that are there. While one is missing, frames are dropped "
             "as ranks_lost.",
             readings, of_ranks(&pipeline::RankFigures::joined)));
  families.push_back(Counted("millrace_pipeline_ranks_lost_total",
                             "Times that a process was lost: it had ended, or showed no sign of "
                             "life for ranks.lost_after_s. The log names it.",
                             readings, of_ranks(&pipeline::RankFigures::lost)));
  families.push_back(SentFamily(readings));
  families.push_back(PerStream(
      "millrace_pipeline_busiest_link_load_ratio",
      "Share of the last ten seconds for which the busiest link between two processes had bytes to "
      "carry, by its speed when they joined. Near 1 the link sets the pace of all.",
      MetricType::Gauge, readings, [](const auto& r) -> std::optional<double> {
        const std::optional<LinkLoad> busiest = BusiestOf(r.snapshot.links);
        return busiest ? std::optional(busiest->share) : std::nullopt;
      }));
}

}  // namespace

Families CollectStreamMetrics(const StreamReadings& readings) {
  Families families;
  AppendIngest(readings, families);
  AppendFrames(readings, families);
  AppendPromise(readings, families);
  AppendLosses(readings, families);
  AppendLearning(readings, families);
  AppendRanks(readings, families);
  for (MetricFamily& family : CollectLabelMetrics(readings)) families.push_back(std::move(family));
  return families;
}

}  // namespace millrace::service
