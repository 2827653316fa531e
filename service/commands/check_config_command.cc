#include "service/commands/check_config_command.h"

#include <filesystem>
#include <iostream>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/plural.h"
#include "ingest/source/source.h"
#include "pipeline/learner/flow_network_names.h"
#include "service/commands/machine.h"
#include "service/commands/machine_check.h"
#include "service/config/config_file.h"
#include "service/config/config_print.h"
#include "service/config/warm_start.h"
#include "service/console/serve_banner.h"
#include "service/net/http_message.h"
#include "service/server/camera_fit.h"
#include "service/stream/weights_origin.h"
#include "service/terminal/cli_exit_codes.h"

namespace millrace::service {
namespace {

constexpr char kFooter[] = R"(
The exit code is 0 if the configuration is right, else 2. Each error is a line with file, line,
column, the fault and the allowed values. Passwords in URIs are never shown.

Editors with support for JSON schemas check a configuration while you type.

Examples
  millrace check-config samples/millrace.yaml
  millrace check-config --print samples/millrace.yaml
  millrace check-config --schema > millrace.schema.json)";

std::string DescribeTask(const StreamConfig& stream) {
  if (IsOfLabels(stream.task)) {
    return absl::StrCat(DescribeLabels(stream), ", from ", DescribeOrigin(stream));
  }
  const std::string task = stream.flow.next_frame ? "the next frame" : "optical flow";
  return absl::StrCat(stream.input_is_set ? DescribeFlow(stream) : task + " in the camera's shape",
                      ", from ", DescribeOrigin(stream));
}

/// The cost of a start from random weights; empty if the stream has weights.
std::string DescribeColdStart(const StreamConfig& stream) {
  const bool cold = !IsOfLabels(stream.task) && stream.learner.weights.empty() &&
                    !pipeline::IsNetworkFile(stream.flow.network);
  return cold ? absl::StrCat("\n            ", CostOfColdStart(stream.flow.network)) : "";
}

/// "auto, at most 2 stages". A file that waits for the model has another schedule.
std::string DescribeSchedule(const StreamConfig& stream) {
  const pipeline::LearnerOptions learner = FitTo({}, stream).learner;
  return absl::StrCat(learner.schedule, ", ", learner.schedule == "auto" ? "at most " : "",
                      Plural(learner.stages, "stage"));
}

std::string DescribeOptimizer(const pipeline::OptimizerOptions& optimizer) {
  const std::string name = pipeline::OptimizerNames()[static_cast<std::size_t>(optimizer.kind)];
  const bool is_usual = optimizer.kind == pipeline::OptimizerOptions::Kind::kRmsProp;
  return absl::StrCat("learning rate ", optimizer.learning_rate, is_usual ? "" : " of " + name);
}

std::string DescribeStream(const StreamConfig& stream) {
  const ingest::SourceOptions& source = stream.source;
  const pipeline::LearnerOptions& learner = stream.learner;
  return absl::StrCat(
      stream.name, "\n  source    ", ingest::WithoutCredentials(source.uri),
      source.loop ? ", looped" : "", source.as_camera ? ", as a camera" : "", "\n  learns    ",
      DescribeTask(stream), ", ", DescribeOptimizer(learner.optimizer), DescribeColdStart(stream),
      "\n  plan      ", DescribeSchedule(stream),
      learner.cuts.empty() ? ", cut by measured cost" : ", cut as configured",
      learner.devices.empty() ? "" : ", on ", absl::StrJoin(learner.devices, ", "), "\n");
}

std::string DescribeListen(const Listen& listen) {
  const std::string web = UrlHost(listen.web_address());
  const std::string for_whom =
      IsLoopback(listen.web_address()) ? "this machine only" : "every machine that reaches it";
  return absl::StrCat("listens\n  gRPC      ", UrlHost(listen.address), ":", listen.grpc_port, ", ",
                      Describe(listen.security), "\n  page      ", web, ":", listen.http_port,
                      ", plain text for ", for_whom, ", at most ", listen.max_viewers,
                      " viewers\n  metrics   ", web, ":", listen.metrics_port, ", plain text for ",
                      for_whom, "\n");
}

int Refused(const absl::Status& why) {
  std::cerr << why.message() << "\n";
  return ExitCodeOf(why);
}

}  // namespace

void AddCheckConfig(CLI::App& app, CheckConfigArguments& arguments) {
  CLI::App* check = app.add_subcommand(
      "check-config", "Show a configuration's errors, or its streams and their plans");
  CLI::Option* config = check->add_option("config", arguments.config, "The configuration (YAML)");
  CLI::Option* print = check->add_flag("--print", arguments.print,
                                       "Print the effective configuration, with every default");
  CLI::Option* schema =
      check->add_flag("--schema", arguments.schema, "Print the JSON schema of configurations");
  print->needs(config);
  schema->excludes(config);
  check->require_option(1, 2);
  check->footer(kFooter);
}

std::string DescribeConfig(const Config& config) {
  std::string text;
  for (const StreamConfig& stream : config.streams) text += DescribeStream(stream);
  return text + DescribeListen(config.listen);
}

int RunCheckConfig(const CheckConfigArguments& arguments) {
  if (arguments.schema) {
    std::cout << ConfigJsonSchema();
    return kExitOk;
  }
  // The printed file may be stored in another folder.
  const absl::StatusOr<ConfigFile> file = LoadConfigFile(
      arguments.print ? std::filesystem::absolute(arguments.config).string() : arguments.config);
  if (!file.ok()) return Refused(file.status());
  if (const absl::Status limits = RaiseLimits(*file); !limits.ok()) return Refused(limits);
  const Machine machine = ThisMachine();
  if (const absl::Status fits = CheckMachine(*file, machine); !fits.ok()) return Refused(fits);
  if (arguments.print) {
    std::cout << "# The effective configuration of " << arguments.config << ".\n"
              << PrintConfig(file->config);
    return kExitOk;
  }
  std::cout << arguments.config << ": OK\n" << DescribeConfig(file->config);
  if (const absl::Status ports = PortsInUse(*file, machine); !ports.ok()) {
    std::cout << "ports that `serve` could not open now\n" << ports.message() << "\n";
  }
  return kExitOk;
}

}  // namespace millrace::service
