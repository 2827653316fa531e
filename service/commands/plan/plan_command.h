// `millrace plan`: shows how a network would be cut and run, without running it.
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "pipeline/plan/cuts.h"
#include "pipeline/planner/host_traffic.h"
#include "pipeline/planner/layer_profile.h"
#include "service/commands/plan/drawing_files.h"
#include "service/commands/plan/plan_request.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

/// A configured model, its measured costs on this machine, and its configured plan.
struct MeasuredModel {
  pipeline::NetworkProfile costs;
  std::string schedule;
  int stages = 1;
  /// The layer that starts each stage after the first. Empty: the best cuts.
  pipeline::Cuts cuts = {};
  /// 0: as short as possible.
  double period_ms = 0;
  /// No host of a stage: all are on one.
  pipeline::HostPlacement hosts = {};
};

/// Measures the model of a stream in the configuration at a path. An empty name means the only
/// stream.
using MeasureModel = std::function<absl::StatusOr<MeasuredModel>(const std::string& config,
                                                                 const std::string& stream)>;

struct PlanArguments {
  /// A costs.json, or a configuration whose model is measured first. Exactly one must be set.
  std::string costs = {};
  std::string config = {};
  /// The configuration's stream; empty: its only one.
  std::string stream = {};
  /// Nullopt: the schedule of the configuration, or of the request.
  std::optional<std::string> schedule = {};
  PlanRequest request = {};
  /// As ParseLinkRate(); empty: not known.
  std::string link = {};
  std::optional<double> link_delay_ms = {};
  bool compare = false;
  bool json = false;
  /// A file to write; empty: no file.
  std::string save_costs = {};
  DrawingFiles drawings = {};
};

/// Adds the command to `app`. Parsing writes to `arguments`, which must live until then. With
/// `measures`, the user may name a configuration in place of costs.
void AddPlan(CLI::App& app, PlanArguments& arguments, bool measures);

/// Runs the command, writes to `out` and `errors`, and returns the program's exit code. `measure`
/// may be empty if `arguments` name a costs.json.
[[nodiscard]] int RunPlan(const PlanArguments& arguments, const MeasureModel& measure,
                          std::ostream& out, std::ostream& errors);

}  // namespace millrace::service
