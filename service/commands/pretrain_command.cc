#include "service/commands/pretrain_command.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <stop_token>
#include <utility>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/plural.h"
#include "base/status.h"
#include "ingest/frame/image_folder.h"
#include "ingest/pictures/image_decoder.h"
#include "service/frames/explained.h"
#include "service/terminal/cli_exit_codes.h"
#include "service/terminal/cli_network.h"
#include "service/terminal/cli_values.h"
#include "service/terminal/progress_bar.h"
#include "service/terminal/serve_signals.h"

namespace millrace::service {
namespace {

constexpr char kFooter[] = R"(
A network with random weights, except refine, needs a thousand frames of a real camera to see any
motion. With these weights it adapts at once. The program generates the pictures, so their motion
is known exactly. The same options give the same weights on the same machine.

With photographs, the pictures are cut-outs of them that move before each other, and the network
learns their true motion. This takes hours. With --checkpoints, a stopped run continues when the
same command starts again.

Examples
  millrace pretrain --network flow --frames 3000 --output flow-start.safetensors
  millrace pretrain --photographs FOLDER --frames 80000 --checkpoints unfinished \
    --output refine-start.safetensors)";

// Smaller pictures have too little texture for a scene.
constexpr int kMinSide = 128;

pipeline::Photograph InGrey(const ingest::Picture& picture) {
  pipeline::Photograph photograph{.width = picture.width, .height = picture.height, .grey = {}};
  photograph.grey.reserve(picture.rgb.size() / 3);
  for (std::size_t i = 0; i < picture.rgb.size(); i += 3) {
    const int sum = 299 * picture.rgb[i] + 587 * picture.rgb[i + 1] + 114 * picture.rgb[i + 2];
    photograph.grey.push_back(static_cast<std::uint8_t>((sum + 500) / 1000));
  }
  return photograph;
}

absl::StatusOr<std::vector<pipeline::Photograph>> ReadPhotographs(const std::string& folder) {
  MILLRACE_ASSIGN_OR_RETURN(const std::vector<std::string> paths, ingest::ListImages(folder));
  std::vector<pipeline::Photograph> photographs;
  for (const std::string& path : paths) {
    const auto refused = [&](const absl::Status& why) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", why.message()));
    };
    const absl::StatusOr<std::string> bytes = ingest::ReadImage(path);
    if (!bytes.ok()) return refused(bytes.status());
    const absl::StatusOr<ingest::DecodedImage> image =
        ingest::DecodeImage({reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size()});
    if (!image.ok()) return refused(image.status());
    const ingest::Picture& picture = *image->picture;
    if (std::min(picture.width, picture.height) < kMinSide) continue;
    photographs.push_back(InGrey(picture));
  }
  if (photographs.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": no picture has at least ", kMinSide, "x", kMinSide, " pixels"));
  }
  return photographs;
}

}  // namespace

void AddPretrain(CLI::App& app, PretrainArguments& arguments) {
  pipeline::PretrainOptions& options = arguments.options;
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
  CLI::Option* photographs = pretrain->add_option(
      "--photographs", arguments.photographs,
      "A folder of JPEG and PNG files: learn the true motion of scenes of them");
  pretrain
      ->add_option("--checkpoints", options.checkpoints,
                   "With --photographs: a folder that keeps what a stopped run has learned")
      ->needs(photographs);
  pretrain
      ->add_option("--learning-rate", options.learning_rate,
                   "The learning rate at the beginning; it falls to an eighth, with photographs to "
                   "a fiftieth")
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
  pretrain
      ->add_option("--smoothness", arguments.smoothness,
                   "Weight of the smoothness term. Left out: 10 for refine, else 0.1")
      ->check(CLI::NonNegativeNumber);
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

int RunPretrain(PretrainArguments arguments) {
  pipeline::PretrainOptions& options = arguments.options;
  options.loss.smoothness =
      arguments.smoothness.value_or(pipeline::UsualSmoothness(options.network));
  if (!arguments.photographs.empty()) {
    absl::StatusOr<std::vector<pipeline::Photograph>> read = ReadPhotographs(arguments.photographs);
    if (!read.ok()) {
      std::cerr << "millrace pretrain: " << read.status().message() << "\n";
      return kExitUsage;
    }
    options.photographs = *std::move(read);
  }
  StopSignals signals;
  std::stop_source stop;
  signals.Watch([&] { stop.request_stop(); });

  const std::string made_of =
      options.photographs.empty()
          ? ""
          : absl::StrCat(" of ", Plural(options.photographs.size(), "photograph"));
  std::cout << absl::StrFormat(
                   "learning flow from %d generated pairs of %dx%d%s; %s is written at the end\n",
                   options.frames, options.width, options.height, made_of, options.output)
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
