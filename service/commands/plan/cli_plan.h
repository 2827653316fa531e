// The options of `millrace plan`.
#pragma once

#include "service/commands/plan/cmd_plan.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

/// Adds the command to `app`. Parsing writes to `arguments`, which must live until then. With
/// `measures`, the user may name a configuration in place of costs.
void AddPlan(CLI::App& app, PlanArguments& arguments, bool measures);

}  // namespace millrace::service
