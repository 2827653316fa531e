#include "service/commands/pretrain_command.h"

#include <iostream>
#include <stop_token>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/plural.h"
#include "service/frames/explained.h"
#include "service/terminal/cli_exit_codes.h"
#include "service/terminal/cli_network.h"
#include "service/terminal/cli_values.h"
#include "service/terminal/progress_bar.h"
#include "service/terminal/serve_signals.h"

namespace millrace::service {
namespace {

constexpr char kFooter[] = R"(
A network with random weights needs hundreds of frames of a real camera to see any motion. With
these weights it adapts at once. The program generates the stream: textures with exactly known
motion. The same options give the same weights on the same machine.

Example
  millrace pretrain --output flow-start.safetensors --frames 3000)";

}  // namespace

void AddPretrain(CLI::App& app, pipeline::PretrainOptions& options) {
  CLI::App* pretrain = app.add_subcommand("pretrain", "Train the initial weights of streams");
  pretrain->add_option("-o,--output", options.output, "The weight file to write")->required();
  pretrain->add_option("--frames", options.frames, "Pairs of pictures to learn from")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  pretrain
      ->add_option("--width", options.width,
                   "Their width: at least 64, and divisible as the network requires")
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
          "The loss function")
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
  pretrain->footer(kFooter);
}

int RunPretrain(pipeline::PretrainOptions options) {
  StopSignals signals;
  std::stop_source stop;
  signals.Watch([&] { stop.request_stop(); });

  std::cout << absl::StrFormat(
                   "learning flow from %d generated pairs of %dx%d; %s is written at the end\n",
                   options.frames, options.width, options.height, options.output)
            << std::flush;
  ProgressBar bar(std::cerr, ProgressBar::OnStandardError("frames"));
  options.on_frame = [&](std::int64_t frames) { bar.Show(frames, options.frames); };
  const auto show = [&](const pipeline::PretrainProgress& progress) {
    bar.Clear();
    std::cout << absl::StrFormat("  %d of %d   %s   end-point error %.2f px (%.2f for no motion)\n",
                                 progress.frames, options.frames,
                                 ExplainedText(progress.loss_ratio, 1), progress.end_point_error,
                                 progress.end_point_error_no_motion)
              << std::flush;
  };
  const absl::StatusOr<pipeline::PretrainSummary> summary =
      pipeline::Pretrain(options, show, stop.get_token());
  signals.Forget();  // Watch()'s callback uses local variables.
  bar.Finish();
  if (!summary.ok()) {
    std::cerr << "millrace pretrain: " << summary.status().message() << "\n";
    return absl::IsInvalidArgument(summary.status()) ? kExitUsage : kExitFailure;
  }
  std::cout << absl::StrFormat("wrote %s: end-point error from %.2f to %.2f px", options.output,
                               summary->first.end_point_error, summary->last.end_point_error);
  if (summary->skipped_updates > 0) {
    std::cout << absl::StrCat(", ", Plural(summary->skipped_updates, "update"),
                              " skipped (not finite)");
  }
  std::cout << "\n";
  return kExitOk;
}

}  // namespace millrace::service
