#include "service/commands/bench/bench_command.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/atomic_file.h"
#include "base/status.h"
#include "service/commands/bench/bench_report.h"
#include "service/terminal/cli_exit_codes.h"
#include "service/terminal/cli_values.h"
#include "service/terminal/progress_bar.h"

namespace millrace::service {
namespace {

constexpr char kFooter[] = R"(
Run nothing else on the machine: other work makes several threads look better against one thread.
Each network has random weights and learns to output zeros for random samples.

For each network, all contenders take turns: LibTorch alone, and every schedule with every number
of stages, cut by the measured cost of the layers. LibTorch alone is autograd over the whole
network with the same optimizer. It runs with one thread, with its default number of threads, and
as one copy of the network for each stage. The copies run at once: they show the limit of this
machine. A turn is SAMPLES samples, and some uncounted ones that fill and empty the pipeline.
Samples are admitted as soon as there is room.

On a GPU the only baseline is LibTorch's autograd, kernel by kernel. Every schedule runs twice:
kernel by kernel, and with its operations captured as CUDA graphs. All wait for each prediction,
as a server must.

Columns
  samples a second   predictions
  ratio              to LibTorch with one thread, or on the GPU, of the same turn
  delay ms           from a sample's admission to its prediction, on average
  idle               share of the time in which a device runs no operation; on a GPU
                     only for captured operations, which have no gaps
  CPU ms a sample    of the whole process
  GPU MiB            peak of its memory in use

Examples
  millrace bench
  millrace bench --networks resnet50 --stages 2,4 --schedules pipedream,gpipe --size 224
  millrace bench --networks unet_portals,unet_carried --json unet.json
  millrace bench --device cuda --stages 1,2,4 --samples 200)";

void AddNetwork(CLI::App& bench, BenchArguments& arguments) {
  pipeline::BenchNetworkOptions& network = arguments.options.network;
  bench
      .add_option("--networks", arguments.options.networks,
                  "Some of " + absl::StrJoin(pipeline::BenchNetworkNames(), ", "))
      ->delimiter(',')
      ->capture_default_str();
  bench
      .add_option(
          "--layers", network.layers,
          "Convolutions of conv and conv_pool, or of each level of a U-Net. Left out: 12, 2")
      ->check(CLI::PositiveNumber);
  bench
      .add_option("--channels", network.channels,
                  "Of conv and conv_pool, or of the first level. Left out: 32; ResNet 64")
      ->check(CLI::PositiveNumber);
  bench.add_option("--size", arguments.size, "Size of the samples: one side, or WIDTHxHEIGHT")
      ->capture_default_str();
}

absl::Status ReadSize(const std::string& text, pipeline::BenchNetworkOptions& network) {
  constexpr int kMaxSide = 8192;
  const std::vector<std::string> sides = absl::StrSplit(text, 'x');
  const bool read = sides.size() <= 2 && absl::SimpleAtoi(sides.front(), &network.width) &&
                    absl::SimpleAtoi(sides.back(), &network.height) &&
                    std::max(network.width, network.height) <= kMaxSide;
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

void AddBench(CLI::App& app, BenchArguments& arguments) {
  pipeline::BenchOptions& options = arguments.options;
  CLI::App* bench =
      app.add_subcommand("bench", "Measure schedules, stages and networks against LibTorch alone");
  AddNetwork(*bench, arguments);
  bench
      ->add_option("--schedules", options.schedules,
                   "The schedules; instead of hybrid its parts, stale and sequential")
      ->delimiter(',')
      ->check(ScheduleName())
      ->capture_default_str();
  bench->add_option("--stages", options.stages, "Numbers of stages")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  bench->add_option("--samples", options.samples, "Counted samples of each turn")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  bench->add_option("--turns", options.turns, "Turns of each contender")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  bench->add_option("--threads-per-stage", options.threads_per_stage, "Threads in an operation")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  bench
      ->add_option("--device", options.device,
                   "The device of all stages: cpu, cuda (the first GPU) or cuda:N")
      ->capture_default_str();
  bench
      ->add_option("--precision", arguments.precision,
                   "The number format on a GPU: float32, or bfloat16 by autocast")
      ->check(OneOf({pipeline::kPrecisionNames.begin(), pipeline::kPrecisionNames.end()}))
      ->capture_default_str();
  bench
      ->add_option("--optimizer", arguments.optimizer,
                   absl::StrJoin(pipeline::OptimizerNames(), ", "))
      ->capture_default_str();
  bench->add_option("--json", arguments.json, "Also write all results to this file");
  bench->footer(kFooter);
}

int RunBench(const BenchArguments& arguments) {
  const absl::Status status = Run(arguments);
  if (!status.ok()) std::cerr << "millrace bench: " << status.message() << "\n";
  return ExitCodeOf(status);
}

}  // namespace millrace::service
