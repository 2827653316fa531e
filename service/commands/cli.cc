#include "service/commands/cli.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <utility>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_join.h"
#include "service/commands/bench/bench_command.h"
#include "service/commands/check_config_command.h"
#include "service/commands/cli_manual.h"
#include "service/commands/evaluate/evaluate_flow_command.h"
#include "service/commands/evaluate/evaluate_labels_command.h"
#include "service/commands/export_command.h"
#include "service/commands/init_command.h"
#include "service/commands/join_command.h"
#include "service/commands/measure_model.h"
#include "service/commands/plan/plan_command.h"
#include "service/commands/pretrain_command.h"
#include "service/commands/replay_command.h"
#include "service/commands/serve_command.h"
#include "service/commands/watch/watch_command.h"
#include "service/terminal/cli_exit_codes.h"
#include "service/terminal/cli_help.h"
#include "service/terminal/terminal.h"

namespace millrace::service {
namespace {

constexpr std::size_t kHelpColumns = 100;  // Longer lines are hard to read.

constexpr char kFooter[] = R"(
Examples
  millrace init 'rtsp://user:password@camera.local/stream1'
  millrace serve
  millrace watch
  millrace COMMAND --help

Exit codes
  0  success, or an end on request
  1  a failure during the run
  2  a wrong command line or configuration
  3  a GPU failed, or its memory is full
  130, 143  an end at once: by a second Ctrl-C or SIGTERM, or because it hung (128 + the signal)

Environment
  MILLRACE_LOG         lowest level of the log: debug, info, warning, error, off
  MILLRACE_LOG_FORMAT  text, or json: an object on each line, with time, level, message and, for
                       messages about a stream, stream
  NO_COLOR             no colours)";

constexpr char kEvaluateFooter[] = R"(
Examples
  millrace evaluate flow street.mp4 --schedules sequential,partime --stages 4 --out street
  millrace evaluate labels --data digits.csv.gz --schedules sequential,partime --stages 2,4)";

}  // namespace

int RunCommandLine(int argc, char** argv) {
  CLI::App app("Millrace turns live video into a model that never stops learning.", "millrace");
  app.set_version_flag("--version", "millrace " MILLRACE_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);
  ExplainWell(app, std::min(TerminalColumns(kHelpColumns), kHelpColumns));

  ServeArguments serve;
  WatchArguments watch;
  CheckConfigArguments check_config;
  PretrainArguments pretrain;
  PlanArguments plan;
  InitArguments init;
  AddInit(app, init);
  AddServe(app, serve);
  AddWatch(app, watch);
  AddCheckConfig(app, check_config);
  AddPretrain(app, pretrain);
  AddPlan(app, plan, /*measures=*/true);
  ReplayArguments replay;
  AddReplay(app, replay);
  JoinArguments join;
  AddJoin(app, join);
  BenchArguments bench;
  AddBench(app, bench);
  ExportArguments weights;
  AddExport(app, weights);
  EvaluateFlowArguments evaluate_flow;
  CLI::App* evaluate = app.add_subcommand("evaluate", "Compare the quality of learners");
  evaluate->require_subcommand(1);
  evaluate->footer(kEvaluateFooter);
  AddEvaluateFlow(*evaluate, evaluate_flow);
  EvaluateLabelsArguments evaluate_labels;
  AddEvaluateLabels(*evaluate, evaluate_labels);
  AddManual(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  if (const std::string manual = ChosenManual(app, MILLRACE_VERSION); !manual.empty()) {
    std::cout << manual;
    return kExitOk;
  }
  if (app.got_subcommand("init")) return RunInit(init);
  if (app.got_subcommand("serve")) return RunServe(serve);
  if (app.got_subcommand("watch")) return RunWatch(watch);
  if (app.got_subcommand("check-config")) return RunCheckConfig(check_config);
  if (app.got_subcommand("plan")) {
    return RunPlan(plan, MeasureConfiguredModel, std::cout, std::cerr);
  }
  if (app.got_subcommand("replay")) return RunReplay(replay);
  if (app.got_subcommand("join")) return RunJoin(join);
  if (app.got_subcommand("bench")) return RunBench(bench);
  if (app.got_subcommand("export")) return RunExport(std::move(weights));
  if (evaluate->got_subcommand("flow")) {
    return RunEvaluateFlow(std::move(evaluate_flow), absl::StrJoin(argv, argv + argc, " "));
  }
  if (evaluate->got_subcommand("labels")) return RunEvaluateLabels(evaluate_labels);
  return RunPretrain(std::move(pretrain));
}

}  // namespace millrace::service
