// `millrace plan`: says how a network would be cut and run, before anything runs.
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/planner/layer_costs.h"
#include "service/commands/plan/drawing_files.h"
#include "service/commands/plan/plan_request.h"

namespace millrace::service {

/// A configured model, measured on this machine, and how the configuration would run it.
struct MeasuredModel {
  pipeline::NetworkCosts costs;
  std::string schedule;
  int stages = 1;
  /// The layer that starts each stage after the first. Empty: the best cuts.
  pipeline::Cuts cuts = {};
  /// 0: as little as can be.
  double period_ms = 0;
};

/// Measures the model of a stream of the configuration at a path. An empty name: of its only one.
using MeasureModel = std::function<absl::StatusOr<MeasuredModel>(const std::string& config,
                                                                 const std::string& stream)>;

struct PlanArguments {
  /// A costs.json, or a configuration whose model is measured first: one of the two.
  std::string costs = {};
  std::string config = {};
  /// Which of its streams. Empty: the only one.
  std::string stream = {};
  /// Nothing: that of the configuration, or the request's.
  std::optional<std::string> schedule = {};
  PlanRequest request = {};
  bool compare = false;
  bool json = false;
  /// A file to write. Empty: none.
  std::string save_costs = {};
  DrawingFiles drawings = {};
};

/// Runs the command, writing to `out` and `errors`, and returns the program's exit code. `measure`
/// may be empty: then there must be a costs.json.
[[nodiscard]] int RunPlan(const PlanArguments& arguments, const MeasureModel& measure,
                          std::ostream& out, std::ostream& errors);

}  // namespace millrace::service
