// `millrace plan`: says how a network would be cut and run, before anything runs.
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "pipeline/layer_costs.h"
#include "service/plan_request.h"

namespace millrace::service {

/// Measures what the layers of a configured model cost on this machine.
using ProfileModel =
    std::function<absl::StatusOr<pipeline::NetworkCosts>(const std::string& config)>;

struct PlanArguments {
  /// A costs.json, or a configuration whose model is measured first: one of the two.
  std::string costs = {};
  std::string config = {};
  PlanRequest request = {};
  bool compare = false;
  bool json = false;
  /// Files to write. Empty: none.
  std::string svg = {};
  std::string trace = {};
};

/// Runs the command, writing to `out` and `errors`, and returns the program's exit code. `profile`
/// may be empty: then there must be a costs.json.
[[nodiscard]] int RunPlan(const PlanArguments& arguments, const ProfileModel& profile,
                          std::ostream& out, std::ostream& errors);

}  // namespace millrace::service
