#include "service/commands/cli.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <string>
#include <utility>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_join.h"
#include "pipeline/offline/pretrain.h"
#include "service/commands/bench/cli_bench.h"
#include "service/commands/bench/cmd_bench.h"
#include "service/commands/cli_init.h"
#include "service/commands/cli_manual.h"
#include "service/commands/cli_replay.h"
#include "service/commands/cmd_check_config.h"
#include "service/commands/cmd_export.h"
#include "service/commands/cmd_pretrain.h"
#include "service/commands/cmd_replay.h"
#include "service/commands/cmd_serve.h"
#include "service/commands/evaluate/cli_evaluate_flow.h"
#include "service/commands/evaluate/cli_evaluate_labels.h"
#include "service/commands/evaluate/cmd_evaluate_flow.h"
#include "service/commands/evaluate/cmd_evaluate_labels.h"
#include "service/commands/measure_model.h"
#include "service/commands/plan/cli_plan.h"
#include "service/commands/plan/cmd_plan.h"
#include "service/commands/watch/cmd_watch.h"
#include "service/terminal/cli_exit_codes.h"
#include "service/terminal/cli_help.h"
#include "service/terminal/cli_network.h"
#include "service/terminal/cli_values.h"
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
  0  it did what was asked, or was asked to end
  1  something failed while it ran
  2  the command line or the configuration is wrong
  3  a GPU failed, or its memory is full
  130, 143  it ended at once: Ctrl-C, or SIGTERM, for the second time, or it hung (128 + the signal)

Environment
  MILLRACE_LOG         least level of the log: debug, info, warning, error, off
  MILLRACE_LOG_FORMAT  text, or json: an object on each line, with time, level, message and, where
                       it is about one, stream
  NO_COLOR             no colours)";

constexpr char kServeFooter[] = R"(
SIGTERM and SIGINT (Ctrl-C) end it within three seconds: frames inside the pipeline get their
predictions, subscribers are told, a summary is printed. Where something hangs it ends after twelve,
as it is. A second signal ends it at once.
SIGHUP has the configuration read again: streams come, go and change as it says; what takes a restart
is named in the log.
Logs go to stderr, banner, progress and summary to stdout.

Examples
  millrace serve
  millrace serve --config samples/millrace.yaml
  millrace serve --config samples/millrace.yaml --frames 500 --summary-json summary.json)";

constexpr char kWatchFooter[] = R"(
On a terminal each stream has a line that is rewritten, and that says what is the matter where no
prediction comes; elsewhere, and with --json, each prediction is a line of its own. A prediction
that came while the one before it was shown is skipped and counted as missed. A loss that a
prediction does not have is null in JSON. Pictures are JPEG files, FOLDER/STREAM-FRAME.jpg; --count
says how many. It ends with 0 at Ctrl-C and where nobody reads what it prints any more, and with 1 if
a stream could not be watched to its end, which stderr says.

Examples
  millrace watch
  millrace watch 192.168.1.20:50051 --stream gate --count 100
  millrace watch --json | jq -c 'select(.delay_ms > 200)'
  millrace watch --view pictures --count 10
  millrace watch 192.168.1.20:50051 --ca ca.pem --token-file token.txt)";

constexpr char kCheckConfigFooter[] = R"(
Exit code 0 if the configuration is right, 2 if not: then each error is a line with file, line,
column, what is wrong and what is allowed. Passwords in URIs are never shown.

Editors that know JSON schemas check a configuration while it is written.

Examples
  millrace check-config samples/millrace.yaml
  millrace check-config --print samples/millrace.yaml
  millrace check-config --schema > millrace.schema.json)";

constexpr char kPretrainFooter[] = R"(
A network with random weights needs hundreds of frames of a real camera to see any motion; one that
starts from these weights adapts at once. The stream is made by the program: textures that
move in a way that is known exactly. The same options give the same weights on the same machine.

Example
  millrace pretrain --output flow-start.safetensors --frames 3000)";

constexpr char kExportFooter[] = R"(
NAME.pt is a dict of the tensors by name, which torch.load() reads. For a network of your own it is its
state_dict(). The way back: a network's file is read with the weights in it, and `model.weights` of a
configuration also takes a dict that torch.save() wrote, with the names that this command gives.

Examples
  millrace export --config millrace.yaml --stream gate --output gate.pt
  millrace export --checkpoints checkpoints/gate --output gate.pt
  millrace export --network mine.pt --checkpoints checkpoints/gate --output gate.pt

In Python
  network.load_state_dict(torch.load("gate.pt")))";

constexpr char kEvaluateFooter[] = R"(
Examples
  millrace evaluate flow street.mp4 --schedules sequential,partime --stages 4 --out street
  millrace evaluate labels --data digits.csv.gz --schedules sequential,partime --stages 2,4)";

void AddServe(CLI::App& app, ServeArguments& arguments) {
  CLI::App* serve =
      app.add_subcommand("serve", "Learn from the configured cameras and serve the predictions");
  serve->add_option("-c,--config", arguments.config, "The configuration (YAML)")
      ->capture_default_str();
  serve
      ->add_option("--frames", arguments.frames,
                   "End once every stream has this many predictions; 0: go on. Frames inside the "
                   "pipeline then still get theirs, so the summary may count a few more")
      ->check(WholeFrom(0))
      ->capture_default_str();
  serve->add_option("--summary-json", arguments.summary_json,
                    "Write the summary of the run to this file at the end");
  serve->add_flag("--no-progress", arguments.no_progress, "Print no line of progress");
  serve->footer(kServeFooter);
}

void AddWatch(CLI::App& app, WatchArguments& arguments) {
  CLI::App* watch = app.add_subcommand("watch", "Show what a running server predicts");
  watch->add_option("address", arguments.address, "HOST:PORT of the server's gRPC")
      ->capture_default_str();
  watch->add_option("-s,--stream", arguments.stream, "This stream alone, instead of all");
  watch
      ->add_option("-n,--count", arguments.count,
                   "End after this many predictions of each stream. 0: go on")
      ->check(WholeFrom(0))
      ->capture_default_str();
  watch->add_flag("--json", arguments.json, "Print an object of JSON for each prediction");
  watch->add_option("--view", arguments.view,
                    "Save the picture of each prediction, camera and flow, in this folder");
  WatchSecurity& security = arguments.security;
  watch->add_flag("--tls", security.tls, "Speak TLS, and trust whom this machine trusts");
  watch->add_option("--ca", security.ca_file, "Speak TLS, and trust the certificates of this file");
  CLI::Option* certificate = watch->add_option("--certificate", security.certificate_file,
                                               "Speak TLS, and show this certificate");
  certificate->needs(
      watch->add_option("--key", security.key_file, "Its private key")->needs(certificate));
  watch->add_option("--server-name", security.server_name,
                    "The name in the server's certificate, where it is not the address's");
  watch->add_option("--token-file", security.token_file, "The file with the token to show");
  watch->footer(kWatchFooter);
}

void AddCheckConfig(CLI::App& app, CheckConfigArguments& arguments) {
  CLI::App* check = app.add_subcommand(
      "check-config", "Say what is wrong with a configuration, or what it would run");
  CLI::Option* config = check->add_option("config", arguments.config, "The configuration (YAML)");
  CLI::Option* print = check->add_flag(
      "--print", arguments.print, "Print all that holds, every default too, as a configuration");
  CLI::Option* schema =
      check->add_flag("--schema", arguments.schema, "Print the JSON schema of configurations");
  print->needs(config);
  schema->excludes(config);
  check->require_option(1, 2);
  check->footer(kCheckConfigFooter);
}

void AddPretrain(CLI::App& app, pipeline::PretrainOptions& options) {
  CLI::App* pretrain = app.add_subcommand("pretrain", "Make the weights that a stream starts from");
  pretrain->add_option("-o,--output", options.output, "The weight file to write")->required();
  pretrain->add_option("--frames", options.frames, "Pairs of pictures to learn from")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  pretrain
      ->add_option("--width", options.width,
                   "Their width: at least 64, a multiple of what the network asks for")
      ->check(WholeFrom(1))
      ->capture_default_str();
  pretrain->add_option("--height", options.height, "Their height, likewise")
      ->check(WholeFrom(1))
      ->capture_default_str();
  pretrain
      ->add_option("--learning-rate", options.learning_rate,
                   "RMSprop's learning rate at the beginning; it falls to an eighth")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  pretrain->add_option("--network", options.network, NetworkHelp())
      ->check(NetworkCheck())
      ->capture_default_str();
  pretrain
      ->add_option_function<std::string>(
          "--loss",
          [&options](const std::string& name) {
            options.loss.kind = *pipeline::FlowLossKind(name);  // CLI11 checked it.
          },
          "By what it learns")
      ->check(OneOf(pipeline::FlowLossNames()))
      ->default_str("relative");
  pretrain->add_option("--smoothness", options.loss.smoothness, "Weight of the smoothness term")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  pretrain->add_option("--seed", options.seed, "Seeds the weights and the pictures")
      ->check(WholeFrom(0))
      ->capture_default_str();
  pretrain
      ->add_option("--report-every", options.frames_per_report,
                   "Print a line after this many frames")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  pretrain->footer(kPretrainFooter);
}

void AddExport(CLI::App& app, ExportArguments& arguments) {
  CLI::App* weights = app.add_subcommand("export", "Write what was learned for PyTorch to load");
  pipeline::ExportOptions& options = arguments.weights;
  CLI::Option* config =
      weights->add_option("-c,--config", arguments.config,
                          "The configuration of a stream: its network, and its newest checkpoint");
  weights->add_option("--stream", arguments.stream, "Which stream of the configuration")
      ->needs(config);
  weights->add_option("--network", options.network, NetworkHelp())
      ->check(NetworkCheck())
      ->excludes(config)
      ->capture_default_str();
  weights
      ->add_option("--checkpoints", options.checkpoints,
                   "A stream's folder of checkpoints: the newest is taken")
      ->excludes(config);
  weights->add_option("--weights", options.weights, "Else: a weight file")->excludes(config);
  weights->add_option("-o,--output", options.output, "NAME.pt, or NAME.safetensors")->required();
  weights->footer(kExportFooter);
}

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
  pipeline::PretrainOptions pretrain;
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
  BenchArguments bench;
  AddBench(app, bench);
  ExportArguments weights;
  AddExport(app, weights);
  EvaluateFlowArguments evaluate_flow;
  CLI::App* evaluate = app.add_subcommand("evaluate", "Compare what learners are worth");
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
  if (app.got_subcommand("bench")) return RunBench(bench);
  if (app.got_subcommand("export")) return RunExport(std::move(weights));
  if (evaluate->got_subcommand("flow")) {
    return RunEvaluateFlow(std::move(evaluate_flow), absl::StrJoin(argv, argv + argc, " "));
  }
  if (evaluate->got_subcommand("labels")) return RunEvaluateLabels(evaluate_labels);
  return RunPretrain(std::move(pretrain));
}

}  // namespace millrace::service
