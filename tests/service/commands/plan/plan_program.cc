// `millrace plan` alone, without LibTorch, so that its command line is tested in every build.
#include <iostream>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "service/commands/plan/plan_command.h"
#include "service/terminal/cli_exit_codes.h"

// NOLINTNEXTLINE(bugprone-exception-escape): what this program throws should end the test.
int main(int argc, char** argv) {
  namespace service = millrace::service;
  CLI::App app("Only the command plan.", "millrace");
  app.require_subcommand(1);
  service::PlanArguments arguments;
  AddPlan(app, arguments, /*measures=*/false);
  try {
    app.parse(argc, argv);
    return RunPlan(arguments, nullptr, std::cout, std::cerr);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? service::kExitOk : service::kExitUsage;
  }
}
