// `millrace evaluate flow`: measures the quality of optical-flow learners.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/comparison/flow_evaluation.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

/// The command line's values.
struct EvaluateFlowArguments {
  /// `generated`, a video file, or a folder of pictures. Empty with `pairs_list`.
  std::string input;
  /// A file (pairs_list.h).
  std::string pairs_list = {};
  /// `flow` or `next_frame`.
  std::string task = "flow";
  /// Empty: the task's default references.
  std::vector<std::string> references = {};
  std::vector<std::string> others;
  std::string truth;
  std::string hidden;
  bool pseudo_truth = false;
  std::string size = "192x144";
  double frames_per_second = 25;
  /// 0: all pairs; 2,000 of the generated stream.
  std::int64_t pairs = 0;
  /// The mean motion of the generated stream, in pixels.
  double speed = 2.75;
  int seeds = 1;
  std::uint64_t first_seed = 0;
  double window_s = 60;
  bool no_frozen = false;
  bool no_plots = false;
  std::string out;
  /// The name of the optimizer.
  std::string optimizer = "rmsprop";
  /// NAME or NAME:LEARNING_RATE, instead of `optimizer`.
  std::vector<std::string> optimizers = {};
  /// All other options.
  pipeline::FlowEvaluationOptions options;
};

/// Adds the command `flow` to `evaluate`. Parsing writes to `arguments`.
void AddEvaluateFlow(CLI::App& evaluate, EvaluateFlowArguments& arguments);

/// Runs the command and returns the program's exit code. Shows progress on standard error and
/// prints tables to standard output. `command`: the typed command line, for the report.
[[nodiscard]] int RunEvaluateFlow(EvaluateFlowArguments arguments, const std::string& command);

}  // namespace millrace::service
