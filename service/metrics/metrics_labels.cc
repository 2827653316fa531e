#include "service/metrics/metrics_labels.h"

#include <optional>

#include "service/metrics/metrics_family.h"

namespace millrace::service {
namespace {

using pipeline::LabelTask;
using prometheus::MetricType;

prometheus::MetricFamily LostFamily(const StreamReadings& readings) {
  MetricBuilder family("millrace_service_labels_lost_total",
                       "Labels of clients that taught nothing. too_late: their frames had left "
                       "the window. other: the frame did not exist, had a label or was dropped, "
                       "or the label did not fit the task. The summary tells these apart.",
                       MetricType::Counter);
  for (const StreamReading& reading : readings) {
    if (!reading.snapshot.labels) continue;
    const LabelCounts& counts = *reading.snapshot.labels;
    const auto add = [&](const char* reason, std::uint64_t labels) {
      family.Add({{"stream", reading.snapshot.name}, {"reason", reason}},
                 static_cast<double>(labels));
    };
    add("too_late", counts.of(LabelOutcome::kTooLate));
    add("other", counts.of(LabelOutcome::kUnknown) + counts.of(LabelOutcome::kRepeated) +
                     counts.of(LabelOutcome::kInvalid) + counts.of(LabelOutcome::kUnused));
  }
  return family.Take();
}

}  // namespace

std::vector<prometheus::MetricFamily> CollectLabelMetrics(const StreamReadings& readings) {
  std::vector<prometheus::MetricFamily> families = {LostFamily(readings)};
  const auto append = [&](const char* name, const char* help, auto value) {
    MetricBuilder family(name, help, MetricType::Counter);
    for (const StreamReading& reading : readings) {
      if (!reading.snapshot.labels) continue;
      const std::optional<double> known = value(*reading.snapshot.labels);
      if (known) family.Add({{"stream", reading.snapshot.name}}, *known);
    }
    families.push_back(family.Take());
  };
  append("millrace_pipeline_predictions_scored_total",
         "Predictions whose frames got a label, each made before anything was learned from it.",
         [](const LabelCounts& c) { return std::optional(static_cast<double>(c.scored)); });
  append("millrace_pipeline_predictions_right_total",
         "Of those, the ones that named the right class (model.task: classification).",
         [](const LabelCounts& c) {
           return c.task == LabelTask::kClassification ? std::optional(static_cast<double>(c.right))
                                                       : std::nullopt;
         });
  append("millrace_pipeline_squared_errors_total",
         "Sum over the scored predictions of values (model.task: regression) of their mean squared "
         "errors.",
         [](const LabelCounts& c) {
           return c.task == LabelTask::kRegression ? std::optional(c.squared_error_sum)
                                                   : std::nullopt;
         });
  return families;
}

}  // namespace millrace::service
