#include "service/commands/bench/cmd_bench.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/atomic_file.h"
#include "base/status.h"
#include "service/commands/bench/bench_report.h"
#include "service/terminal/cli_exit_codes.h"
#include "service/terminal/progress_bar.h"

namespace millrace::service {
namespace {

absl::Status ReadSize(const std::string& text, pipeline::BenchNetworkOptions& network) {
  constexpr int kGreatestSide = 8192;
  const std::vector<std::string> sides = absl::StrSplit(text, 'x');
  const bool read = sides.size() <= 2 && absl::SimpleAtoi(sides.front(), &network.width) &&
                    absl::SimpleAtoi(sides.back(), &network.height) &&
                    std::max(network.width, network.height) <= kGreatestSide;
  if (read) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--size ", text, "; use one side, as 128, or width and height, as 192x128"));
}

absl::Status Run(const BenchArguments& arguments) {
  pipeline::BenchOptions options = arguments.options;
  MILLRACE_RETURN_IF_ERROR(ReadSize(arguments.size, options.network));
  MILLRACE_ASSIGN_OR_RETURN(options.optimizer.kind, pipeline::OptimizerKind(arguments.optimizer));
  options.network.precision = pipeline::PrecisionNamed(arguments.precision);
  if (!arguments.json.empty()) MILLRACE_RETURN_IF_ERROR(CheckWritable(arguments.json));
  const BenchConditions conditions = PresentConditions();
  std::cerr << "At the start: " << ConditionsText(conditions) << "\n";
  ProgressBar bar(std::cerr, ProgressBar::OnStandardError("turns"));
  options.on_turn = [&bar](std::int64_t done, std::int64_t all) { bar.Show(done, all); };
  const auto report = [&bar](const std::string& line) {
    bar.Clear();
    std::cerr << line << "\n";
  };
  const absl::StatusOr<std::vector<pipeline::BenchRow>> rows = pipeline::RunBench(options, report);
  bar.Finish();
  MILLRACE_RETURN_IF_ERROR(rows.status());
  std::cout << "At the start: " << ConditionsText(conditions) << "\n"
            << "Samples of " << options.network.width << "x" << options.network.height
            << ", computed in " << arguments.precision << "; median (least to greatest) of "
            << options.turns << " turns of " << options.samples << " samples\n\n"
            << BenchTable(*rows);
  if (arguments.json.empty()) return absl::OkStatus();
  return WriteFileAtomically(arguments.json, BenchJson(conditions, options, *rows));
}

}  // namespace

int RunBench(const BenchArguments& arguments) {
  const absl::Status status = Run(arguments);
  if (!status.ok()) std::cerr << "millrace bench: " << status.message() << "\n";
  return ExitCodeOf(status);
}

}  // namespace millrace::service
