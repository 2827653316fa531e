#include "service/commands/measure_model.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/flow/flow_profile.h"
#include "pipeline/labels/label_costs.h"
#include "service/config/config.h"
#include "service/server/camera_fit.h"
#include "service/terminal/progress_bar.h"

namespace millrace::service {
namespace {

// Enough for a median and a spread; 3 s if a sample takes 100 ms.
constexpr int kSamples = 31;

absl::StatusOr<StreamConfig> FindStream(const Config& config, const std::string& name) {
  const auto& streams = config.streams;
  if (name.empty() && streams.size() == 1) return streams.front();
  const auto found = std::find_if(streams.begin(), streams.end(),
                                  [&name](const StreamConfig& s) { return s.name == name; });
  if (found != streams.end()) return *found;
  const std::string names =
      absl::StrJoin(streams, ", ", [](std::string* out, const StreamConfig& s) { *out += s.name; });
  return absl::InvalidArgumentError(
      name.empty() ? absl::StrCat("there are ", streams.size(), " streams; choose one by --stream ",
                                  "NAME: ", names)
                   : absl::StrCat("there is no stream ", name, "; there are: ", names));
}

absl::StatusOr<pipeline::NetworkProfile> Measure(const StreamConfig& stream,
                                                 const std::function<void(int, int)>& show) {
  if (IsOfLabels(stream.task)) {
    return pipeline::MeasureLabelNetwork(stream.learner, stream.labels,
                                         {.steps = kSamples, .on_step = show});
  }
  const auto failed = [](std::string_view what) {
    return absl::InternalError(absl::StrCat("measuring the model failed: ", CauseLine(what)));
  };
  MILLRACE_ASSIGN_OR_RETURN(
      pipeline::ProfiledFlow flow,
      ExceptionToStatus(
          [&] { return pipeline::ProfileFlow(stream.learner, stream.flow, kSamples, {}, show); },
          failed));
  return std::move(flow.costs);
}

/// The planned time between two samples; 0: as short as possible.
double PeriodOf(const pipeline::LearnerOptions& learner) {
  constexpr double kMsPerSecond = 1000;
  if (learner.schedule != "auto") return learner.request.period;
  return kMsPerSecond / learner.frames_per_second;
}

}  // namespace

absl::StatusOr<MeasuredModel> MeasureConfiguredModel(const std::string& path,
                                                     const std::string& stream) {
  MILLRACE_ASSIGN_OR_RETURN(const Config config, LoadConfig(path));
  MILLRACE_ASSIGN_OR_RETURN(const StreamConfig found, FindStream(config, stream));
  MILLRACE_ASSIGN_OR_RETURN(const FittedStream fitted, CameraFit().Complete(found));
  const StreamConfig& chosen = fitted.config;
  ProgressBar bar(std::cerr, ProgressBar::OnStandardError("samples measured"));
  absl::StatusOr<pipeline::NetworkProfile> costs =
      Measure(chosen, [&bar](int done, int all) { bar.Show(done, all); });
  bar.Clear();  // The finished bar adds nothing to the plan.
  MILLRACE_RETURN_IF_ERROR(costs.status());
  return MeasuredModel{.costs = *std::move(costs),
                       .schedule = chosen.learner.schedule,
                       .stages = chosen.learner.stages,
                       .cuts = chosen.learner.cuts,
                       .period_ms = PeriodOf(chosen.learner),
                       .hosts = {.host_of_stage = chosen.learner.rank_of_stage,
                                 .copy_every = chosen.learner.copy_every,
                                 .kept_of_weights = static_cast<double>(
                                     OptimizerStateTensors(chosen.learner.optimizer))}};
}

}  // namespace millrace::service
