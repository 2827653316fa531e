#include "service/metrics_labels.h"

#include <string>

#include "service/metrics_family.h"

namespace millrace::service {
namespace {

using pipeline::LabelTask;
using prometheus::MetricType;
using Snapshots = std::span<const StreamSnapshot* const>;

prometheus::MetricFamily LabelsFamily(Snapshots streams) {
  MetricBuilder family("millrace_service_labels_total",
                       "Labels that clients sent, by what became of them.", MetricType::Counter);
  for (const StreamSnapshot* stream : streams) {
    if (!stream->labels) continue;
    for (std::size_t i = 0; i < kLabelOutcomes; ++i) {
      family.Add(
          {{"stream", stream->name}, {"outcome", std::string(Name(static_cast<LabelOutcome>(i)))}},
          static_cast<double>(stream->labels->labels[i]));
    }
  }
  return family.Take();
}

}  // namespace

std::vector<prometheus::MetricFamily> CollectLabelMetrics(Snapshots streams) {
  std::vector<prometheus::MetricFamily> families = {LabelsFamily(streams)};
  const auto append = [&](const char* name, const char* help, auto value) {
    MetricBuilder family(name, help, MetricType::Counter);
    for (const StreamSnapshot* stream : streams) {
      if (!stream->labels) continue;
      const std::optional<double> known = value(*stream->labels);
      if (known) family.Add({{"stream", stream->name}}, *known);
    }
    families.push_back(family.Take());
  };
  append("millrace_pipeline_predictions_scored_total",
         "Predictions whose frames got a label, each made before anything was learned from it.",
         [](const LabelCounts& c) { return std::optional(static_cast<double>(c.scored)); });
  append("millrace_pipeline_predictions_right_total",
         "Of those, the ones that named the right class.", [](const LabelCounts& c) {
           return c.task == LabelTask::kClassification ? std::optional(static_cast<double>(c.right))
                                                       : std::nullopt;
         });
  append("millrace_pipeline_squared_errors_total",
         "Sum over the scored predictions of values of their mean squared errors.",
         [](const LabelCounts& c) {
           return c.task == LabelTask::kRegression ? std::optional(c.squared_error_sum)
                                                   : std::nullopt;
         });
  return families;
}

}  // namespace millrace::service
