#include "service/metrics/metrics_totals.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>

#include "service/metrics/metrics_family.h"

namespace millrace::service {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

/// One counter. Counters with the same name must be neighbours in the table.
struct Total {
  const char* name;
  const char* help;
  double (*of)(const StreamReading& reading);
  const char* outcome = nullptr;
};

pipeline::RatePlan PlanOf(const StreamReading& reading) {
  return reading.learner->rate_plan.value_or(pipeline::RatePlan());
}

constexpr const char* kReplansHelp =
    "How often the schedule auto planned again because stages' times or the camera's rate "
    "changed. By result: switched to other cuts or orders, or kept the plan.";

constexpr std::array kTotals = {
    Total{
        "millrace_ingest_size_changes_total",
        "Times that a camera's pictures became another size; the prediction after one has the "
        "flag NEW_SIZE.",
        [](const StreamReading& r) { return static_cast<double>(r.snapshot.source.size_changes); }},
    Total{"millrace_ingest_frames_skipped_total",
          "Decoded frames beyond source.max_fps: they have no number and count nowhere else.",
          [](const StreamReading& r) { return static_cast<double>(r.snapshot.source.skipped); }},
    Total{"millrace_service_subscriber_predictions_sent_total",
          "Predictions sent to gRPC subscribers.",
          [](const StreamReading& r) { return static_cast<double>(r.subscribers.sent); }},
    Total{"millrace_service_subscriber_predictions_dropped_total",
          "Predictions that gRPC subscribers were too slow for.",
          [](const StreamReading& r) { return static_cast<double>(r.subscribers.dropped); }},
    Total{"millrace_service_subscribers_cut_off_total",
          "gRPC subscribers that were let go because they were too slow.",
          [](const StreamReading& r) { return static_cast<double>(r.subscribers.cut_off); }},
    Total{"millrace_pipeline_predictions_not_finite_total",
          "Predictions with a value that is not finite. The model does not learn from them.",
          [](const StreamReading& r) { return static_cast<double>(r.stats.not_finite); }},
    Total{"millrace_pipeline_gradients_not_finite_total",
          "Gradients that were not finite, or gradients or weights too large to stay finite. "
          "Their stage, and the stages before it, learned nothing from the frame.",
          [](const StreamReading& r) {
            return static_cast<double>(r.snapshot.learning.gradients_not_finite);
          }},
    Total{"millrace_pipeline_checkpoints_written_total", "Checkpoints written.",
          [](const StreamReading& r) {
            return static_cast<double>(r.snapshot.learning.checkpoints.written);
          }},
    Total{
        "millrace_pipeline_checkpoints_failed_total",
        "Checkpoints that could not be written; the log says why, and the model goes on learning.",
        [](const StreamReading& r) {
          return static_cast<double>(r.snapshot.learning.checkpoints.failed);
        }},
    Total{"millrace_pipeline_checkpoint_writing_seconds_total",
          "Time that checkpoints took to be written, failed ones included. Stages do not wait.",
          [](const StreamReading& r) {
            const auto writing = r.snapshot.learning.checkpoints.writing;
            return std::chrono::duration<double>(writing).count();
          }},
    Total{"millrace_pipeline_replans_total", kReplansHelp,
          [](const StreamReading& r) { return static_cast<double>(PlanOf(r).switched); },
          "switched"},
    Total{"millrace_pipeline_replans_total", kReplansHelp,
          [](const StreamReading& r) { return static_cast<double>(PlanOf(r).kept); }, "kept"},
};

std::vector<double> SumsOf(const StreamReading& reading) {
  std::vector<double> sums;
  for (const Total& total : kTotals) sums.push_back(total.of(reading));
  return sums;
}

void AddTo(std::vector<double>& sums, const std::vector<double>& more) {
  sums.resize(kTotals.size());
  std::ranges::transform(sums, more, sums.begin(), std::plus<>());
}

}  // namespace

std::vector<double> MetricTotals::Add(const StreamReadings& readings) {
  std::map<std::string, Sums> now;
  for (const StreamReading& reading : readings) now[reading.run_id] = SumsOf(reading);
  for (const auto& [run_id, sums] : last_) {
    if (!now.contains(run_id)) AddTo(past_, sums);
  }
  last_ = std::move(now);
  Sums all(kTotals.size());
  if (!past_.empty()) all = past_;
  for (const auto& [run_id, sums] : last_) AddTo(all, sums);
  return all;
}

std::vector<MetricFamily> MetricTotals::Collect(const StreamReadings& readings) {
  const Sums sums = Add(readings);
  std::vector<MetricFamily> families;
  for (std::size_t i = 0; i < kTotals.size(); ++i) {
    const Total& total = kTotals[i];
    MetricBuilder family(total.name, total.help, MetricType::Counter);
    const MetricLabels labels =
        total.outcome == nullptr ? MetricLabels() : MetricLabels{{"outcome", total.outcome}};
    MetricFamily made = family.Add(labels, sums[i]).Take();
    if (!families.empty() && families.back().name == made.name) {
      families.back().metric.push_back(std::move(made.metric.front()));
    } else {
      families.push_back(std::move(made));
    }
  }
  return families;
}

}  // namespace millrace::service
