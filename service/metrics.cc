#include "service/metrics.h"

#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "prometheus/text_serializer.h"
#include "service/log_counts.h"
#include "service/metrics_family.h"
#include "service/metrics_labels.h"
#include "service/metrics_process.h"

namespace millrace::service {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

/// One stream as a scrape sees it: read once, used by every family.
struct Reading {
  StreamSnapshot snapshot;
  RunFigures figures;
  prometheus::ClientMetric delays;
  std::shared_ptr<const pipeline::LearnerDescription> learner;
  pipeline::FlowLossOptions loss;
  SubscriberCounts subscribers;
};
using Readings = std::vector<Reading>;

std::vector<Reading> Read(const Streams& streams) {
  std::vector<Reading> readings;
  for (const SharedStream& served : streams.All()) {
    readings.push_back({.snapshot = served->stream->Snapshot(),
                        .figures = served->record->Figures(),
                        .delays = served->record->DelayMetric(),
                        .learner = served->stream->learner(),
                        .loss = served->stream->config().learner.loss,
                        .subscribers = served->subscribers.Read()});
  }
  return readings;
}

/// A family with one sample for each stream that has a value.
MetricFamily PerStream(std::string name, std::string help, MetricType type,
                       const Readings& readings,
                       const std::function<std::optional<double>(const Reading&)>& value) {
  MetricBuilder family(std::move(name), std::move(help), type);
  for (const Reading& reading : readings) {
    const std::optional<double> known = value(reading);
    if (known) family.Add({{"stream", reading.snapshot.name}}, *known);
  }
  return family.Take();
}

/// What compares with no motion. Nothing for a stream that learns from labels: a ratio to it would
/// be infinite.
std::optional<double> OfMotion(const Reading& reading, double value) {
  return reading.snapshot.labels ? std::nullopt : std::optional(value);
}

/// A family with one sample for each stage of each stream; stages count from 1.
MetricFamily PerStage(std::string name, std::string help, MetricType type, const Readings& readings,
                      const std::function<double(const Reading&, std::size_t)>& value) {
  MetricBuilder family(std::move(name), std::move(help), type);
  for (const Reading& reading : readings) {
    for (std::size_t stage = 0; stage < reading.learner->stages.size(); ++stage) {
      family.Add({{"stream", reading.snapshot.name}, {"stage", absl::StrCat(stage + 1)}},
                 value(reading, stage));
    }
  }
  return family.Take();
}

/// "backing_off": a name as a label's value.
std::string StateLabel(ingest::SourceState state) {
  return absl::StrReplaceAll(std::string(ingest::Name(state)), {{" ", "_"}});
}

double FramesUnaccounted(const Reading& reading) {
  const FrameCounts& frames = reading.snapshot.frames;
  return static_cast<double>(frames.received) -
         static_cast<double>(frames.predicted + frames.dropped_in_all() + frames.in_flight);
}

MetricFamily SourceStateFamily(const Readings& readings) {
  MetricBuilder family("millrace_ingest_source_state",
                       "1 for the state that the source is in, 0 for the others.",
                       MetricType::Gauge);
  for (const Reading& reading : readings) {
    for (const ingest::SourceState state : ingest::kSourceStates) {
      family.Add({{"stream", reading.snapshot.name}, {"state", StateLabel(state)}},
                 reading.snapshot.source.state == state ? 1 : 0);
    }
  }
  return family.Take();
}

MetricFamily TransitionsFamily(const Readings& readings) {
  MetricBuilder family("millrace_ingest_source_transitions_total",
                       "How often the source has come into each state.", MetricType::Counter);
  for (const Reading& reading : readings) {
    for (const ingest::SourceState state : ingest::kSourceStates) {
      const std::int64_t times = reading.snapshot.source.entered[static_cast<std::size_t>(state)];
      family.Add({{"stream", reading.snapshot.name}, {"state", StateLabel(state)}},
                 static_cast<double>(times));
    }
  }
  return family.Take();
}

MetricFamily ReplansFamily(const Readings& readings) {
  MetricBuilder family("millrace_pipeline_replans_total",
                       "How often it was planned again because stages took another time than "
                       "planned, by what came of it.",
                       MetricType::Counter);
  for (const Reading& reading : readings) {
    const pipeline::RatePlan plan = reading.learner->rate_plan.value_or(pipeline::RatePlan());
    const auto add = [&](const char* outcome, std::int64_t times) {
      family.Add({{"stream", reading.snapshot.name}, {"outcome", outcome}},
                 static_cast<double>(times));
    };
    add("switched", plan.switched);
    add("kept", plan.kept);
  }
  return family.Take();
}

void AppendIngest(const Readings& readings, std::vector<MetricFamily>& families) {
  families.push_back(
      PerStream("millrace_ingest_frames_received_total", "Frames that the source delivered.",
                MetricType::Counter, readings,
                [](const Reading& r) { return static_cast<double>(r.snapshot.frames.received); }));
  families.push_back(PerStream(
      "millrace_ingest_frames_skipped_total",
      "Decoded frames beyond source.max_fps, which count nowhere else.", MetricType::Counter,
      readings, [](const Reading& r) { return static_cast<double>(r.snapshot.source.skipped); }));
  families.push_back(PerStream("millrace_ingest_frame_rate_hertz",
                               "Frames received a second, over the last ten seconds.",
                               MetricType::Gauge, readings,
                               [](const Reading& r) { return r.snapshot.frames_per_second_in; }));
  families.push_back(SourceStateFamily(readings));
  families.push_back(TransitionsFamily(readings));
  families.push_back(PerStream(
      "millrace_ingest_reconnects_total", "Camera sessions begun after the first.",
      MetricType::Counter, readings,
      [](const Reading& r) { return static_cast<double>(r.snapshot.source.reconnects); }));
  families.push_back(PerStream(
      "millrace_ingest_size_changes_total", "Times that the camera's pictures became another size.",
      MetricType::Counter, readings,
      [](const Reading& r) { return static_cast<double>(r.snapshot.source.size_changes); }));
  families.push_back(PerStream(
      "millrace_ingest_epoch",
      "Rises with every reconnect, change of picture size and new round of a looped file.",
      MetricType::Gauge, readings,
      [](const Reading& r) { return static_cast<double>(r.snapshot.source.epoch); }));
}

void AppendFrames(const Readings& readings, std::vector<MetricFamily>& families) {
  families.push_back(
      PerStream("millrace_service_frames_predicted_total", "Frames that got a prediction.",
                MetricType::Counter, readings,
                [](const Reading& r) { return static_cast<double>(r.snapshot.frames.predicted); }));
  MetricBuilder dropped("millrace_service_frames_dropped_total",
                        "Frames that got no prediction, by reason.", MetricType::Counter);
  for (const Reading& reading : readings) {
    for (std::size_t reason = 0; reason < kDropReasons; ++reason) {
      dropped.Add({{"stream", reading.snapshot.name},
                   {"reason", std::string(Name(static_cast<DropReason>(reason)))}},
                  static_cast<double>(reading.snapshot.frames.dropped[reason]));
    }
  }
  families.push_back(dropped.Take());
  families.push_back(
      PerStream("millrace_service_frames_in_flight", "Frames waiting or inside the pipeline.",
                MetricType::Gauge, readings,
                [](const Reading& r) { return static_cast<double>(r.snapshot.frames.in_flight); }));
  families.push_back(
      PerStream("millrace_service_frames_unaccounted",
                "Received less predicted, dropped and in flight: anything but 0 is a bug.",
                MetricType::Gauge, readings, FramesUnaccounted));
  families.push_back(PerStream("millrace_service_prediction_rate_hertz",
                               "Predictions a second, over the last ten seconds.",
                               MetricType::Gauge, readings,
                               [](const Reading& r) { return r.snapshot.predictions_per_second; }));
  MetricBuilder delay("millrace_service_prediction_delay_seconds",
                      "From a frame's arrival to its prediction.", MetricType::Histogram);
  for (const Reading& reading : readings) {
    delay.Add({{"stream", reading.snapshot.name}}, reading.delays);
  }
  families.push_back(delay.Take());
}

MetricFamily TermsFamily(const Readings& readings) {
  MetricBuilder family("millrace_pipeline_loss_terms_total",
                       "Sums of the terms of what the model learns by, without their weights.",
                       MetricType::Counter);
  for (const Reading& reading : readings) {
    const auto terms = pipeline::FlowLossTerms(reading.loss);
    const std::vector<double>& sums = reading.figures.loss_term_sums;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      family.Add({{"stream", reading.snapshot.name}, {"term", std::string(terms[i])}},
                 i < sums.size() ? sums[i] : 0);
    }
  }
  return family.Take();
}

// Of the last full window of the stream's own time; no sample before there is one.
void AppendWindows(const Readings& readings, std::vector<MetricFamily>& families) {
  using Summary = pipeline::ScoreSummary;
  const auto append = [&](const char* name, const char* help, auto value) {
    MetricBuilder family(name, help, MetricType::Gauge);
    for (const Reading& reading : readings) {
      if (!reading.figures.window) continue;
      const std::optional<double> known = value(reading.figures.window->summary);
      if (known) family.Add({{"stream", reading.snapshot.name}}, *known);
    }
    families.push_back(family.Take());
  };
  append("millrace_pipeline_window_loss_ratio",
         "Loss over that of no motion, of the last full window of the stream's own time.",
         [](const Summary& s) { return std::optional(s.ratio()); });
  append("millrace_pipeline_window_gain_ratio",
         "(no motion - model) / (no motion - reference) of the same window: 1 is as good as the "
         "method that the stream is compared with.",
         [](const Summary& s) { return s.gain(); });
  append("millrace_pipeline_window_learned_ratio",
         "Share of the predictions of the same window that the model learned from.",
         [](const Summary& s) {
           return std::optional(static_cast<double>(s.learned_from) /
                                static_cast<double>(s.predictions));
         });
}

void AppendLosses(const Readings& readings, std::vector<MetricFamily>& families) {
  families.push_back(PerStream(
      "millrace_pipeline_loss_total",
      "Sum of the losses of all predictions that have one: its rate over the rate of "
      "millrace_pipeline_loss_no_motion_total is the ratio of a window.",
      MetricType::Counter, readings, [](const Reading& r) { return r.figures.loss_sum; }));
  families.push_back(
      PerStream("millrace_pipeline_loss_no_motion_total",
                "Sum of the losses of no motion on the same frames.", MetricType::Counter, readings,
                [](const Reading& r) { return OfMotion(r, r.figures.loss_no_motion_sum); }));
  families.push_back(TermsFamily(readings));
  families.push_back(PerStream("millrace_pipeline_loss_mean",
                               "Mean loss of the last 200 predictions.", MetricType::Gauge,
                               readings, [](const Reading& r) { return r.snapshot.loss; }));
  families.push_back(PerStream(
      "millrace_pipeline_loss_no_motion_mean",
      "Mean loss of no motion on the frames of the last 200 predictions.", MetricType::Gauge,
      readings, [](const Reading& r) { return OfMotion(r, r.snapshot.loss_no_motion); }));
  families.push_back(
      PerStream("millrace_pipeline_predictions_not_finite_total",
                "Predictions with a value that is not finite. The model does not learn from them.",
                MetricType::Counter, readings,
                [](const Reading& r) { return static_cast<double>(r.figures.not_finite); }));
}

MetricFamily SkippedFamily(const Readings& readings) {
  MetricBuilder family("millrace_pipeline_updates_skipped_total",
                       "Predictions that nothing was learned from, by reason.",
                       MetricType::Counter);
  for (const Reading& reading : readings) {
    for (int reason = 1; reason < pipeline::kSkipReasons; ++reason) {
      family.Add({{"stream", reading.snapshot.name},
                  {"reason", std::string(Name(static_cast<pipeline::SkipReason>(reason)))}},
                 static_cast<double>(reading.snapshot.skipped[reason]));
    }
  }
  return family.Take();
}

void AppendSafety(const Readings& readings, std::vector<MetricFamily>& families) {
  families.push_back(SkippedFamily(readings));
  families.push_back(PerStream(
      "millrace_pipeline_roll_backs_total",
      "Times that the weights had gone wrong and older ones that had proven good took their place.",
      MetricType::Counter, readings,
      [](const Reading& r) { return static_cast<double>(r.snapshot.learning.roll_backs); }));
  families.push_back(PerStream(
      "millrace_pipeline_drifts_total",
      "Times that the loss, relative to that of no motion, rose for good.", MetricType::Counter,
      readings, [](const Reading& r) { return static_cast<double>(r.snapshot.learning.drifts); }));
  families.push_back(PerStream(
      "millrace_pipeline_gradients_not_finite_total",
      "Gradients that were not finite. Where they came up, and in the stages before, nothing was "
      "learned from the frame.",
      MetricType::Counter, readings, [](const Reading& r) {
        return static_cast<double>(r.snapshot.learning.gradients_not_finite);
      }));
  families.push_back(
      PerStream("millrace_pipeline_learning_rate_ratio",
                "The share of the configured learning rate in force: less for a while after a "
                "roll-back.",
                MetricType::Gauge, readings,
                [](const Reading& r) { return r.snapshot.learning.rate_scale; }));
}

void AppendCheckpoints(const Readings& readings, std::vector<MetricFamily>& families) {
  const auto append = [&](const char* name, const char* help, MetricType type, auto value) {
    families.push_back(PerStream(name, help, type, readings, [value](const Reading& r) {
      return value(r.snapshot.learning.checkpoints);
    }));
  };
  using Figures = pipeline::CheckpointFigures;
  append("millrace_pipeline_checkpoints_written_total", "Checkpoints written.", MetricType::Counter,
         [](const Figures& f) { return static_cast<double>(f.written); });
  append("millrace_pipeline_checkpoints_failed_total", "Checkpoints that could not be written.",
         MetricType::Counter, [](const Figures& f) { return static_cast<double>(f.failed); });
  append("millrace_pipeline_checkpoint_timestamp_seconds",
         "When the last checkpoint was written, since 1970; 0: none was.", MetricType::Gauge,
         [](const Figures& f) { return std::chrono::duration<double>(f.last_written).count(); });
}

void AppendLearner(const Readings& readings, std::vector<MetricFamily>& families) {
  families.push_back(PerStream("millrace_pipeline_learner_up",
                               "1 while the learner works, 0 once it has failed.",
                               MetricType::Gauge, readings,
                               [](const Reading& r) { return r.snapshot.learner.ok() ? 1 : 0; }));
  families.push_back(PerStream(
      "millrace_pipeline_update_every_frames",
      "From every which frame the model learns, to keep the camera's rate; 0: from none, it "
      "only predicts.",
      MetricType::Gauge, readings,
      [](const Reading& r) { return static_cast<double>(r.snapshot.update_every); }));
  families.push_back(ReplansFamily(readings));
  families.push_back(
      PerStage("millrace_pipeline_updates_total", "Updates of a stage's weights by this process.",
               MetricType::Counter, readings, [](const Reading& r, std::size_t stage) {
                 const std::vector<std::int64_t>& updates = r.snapshot.updates;
                 if (stage >= updates.size()) return 0.0;
                 return static_cast<double>(updates[stage] - r.snapshot.updates_at_start);
               }));
  families.push_back(PerStage(
      "millrace_pipeline_staleness_updates",
      "Updates that a stage makes between its own forward and backward of a frame, by the plan.",
      MetricType::Gauge, readings, [](const Reading& r, std::size_t stage) {
        return static_cast<double>(r.learner->stages[stage].staleness);
      }));
  families.push_back(PerStage(
      "millrace_pipeline_mismatch_samples",
      "Samples between a stage's gradient and the activations that it multiplies, by the plan.",
      MetricType::Gauge, readings, [](const Reading& r, std::size_t stage) {
        return static_cast<double>(r.learner->stages[stage].mismatch);
      }));
}

void AppendLabels(const Readings& readings, std::vector<MetricFamily>& families) {
  std::vector<const StreamSnapshot*> streams;
  for (const Reading& reading : readings) streams.push_back(&reading.snapshot);
  for (MetricFamily& family : CollectLabelMetrics(streams)) families.push_back(std::move(family));
}

void AppendSubscribers(const Readings& readings, std::vector<MetricFamily>& families) {
  const auto append = [&](const char* name, const char* help, MetricType type, auto member) {
    families.push_back(PerStream(name, help, type, readings, [member](const Reading& r) {
      return static_cast<double>(r.subscribers.*member);
    }));
  };
  append("millrace_service_subscribers", "gRPC subscribers now.", MetricType::Gauge,
         &SubscriberCounts::active);
  append("millrace_service_subscriber_predictions_sent_total",
         "Predictions sent to gRPC subscribers.", MetricType::Counter, &SubscriberCounts::sent);
  append("millrace_service_subscriber_predictions_dropped_total",
         "Predictions that gRPC subscribers were too slow for.", MetricType::Counter,
         &SubscriberCounts::dropped);
  append("millrace_service_subscribers_cut_off_total",
         "gRPC subscribers that were let go because they were too slow.", MetricType::Counter,
         &SubscriberCounts::cut_off);
}

MetricFamily ViewersFamily(std::size_t viewers) {
  MetricBuilder family("millrace_service_viewers", "Viewers of the live page now.",
                       MetricType::Gauge);
  return family.Add({}, static_cast<double>(viewers)).Take();
}

}  // namespace

Metrics::Metrics(Options options) : options_(std::move(options)) {
  MILLRACE_CHECK(options_.streams != nullptr);
}

std::vector<MetricFamily> Metrics::Collect() const {
  const Readings readings = Read(*options_.streams);
  std::vector<MetricFamily> families;
  MetricBuilder build("millrace_build_info", "The version that runs; always 1.", MetricType::Gauge);
  families.push_back(build.Add({{"version", MILLRACE_VERSION}}, 1).Take());
  AppendIngest(readings, families);
  AppendFrames(readings, families);
  AppendLosses(readings, families);
  AppendWindows(readings, families);
  AppendSafety(readings, families);
  AppendCheckpoints(readings, families);
  AppendLearner(readings, families);
  AppendLabels(readings, families);
  AppendSubscribers(readings, families);
  if (options_.viewers) families.push_back(ViewersFamily(options_.viewers()));
  families.push_back(LogMessagesFamily());
  return families;
}

std::string Metrics::Text() const {
  std::vector<MetricFamily> families = Collect();
  std::vector<MetricFamily> process = CollectProcessMetrics();
  families.insert(families.end(), std::make_move_iterator(process.begin()),
                  std::make_move_iterator(process.end()));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace millrace::service
