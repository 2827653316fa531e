#include "service/commands/evaluate/cmd_evaluate_flow.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/atomic_file.h"
#include "base/status.h"
#include "pipeline/comparison/clip_folder.h"
#include "pipeline/comparison/generated_clip.h"
#include "service/commands/evaluate/evaluation_json.h"
#include "service/commands/evaluate/evaluation_plots.h"
#include "service/commands/evaluate/evaluation_table.h"
#include "service/commands/evaluate/gnuplot.h"
#include "service/commands/evaluate/video_clip.h"
#include "service/terminal/cli_exit_codes.h"
#include "service/terminal/progress_bar.h"
#include "service/terminal/serve_signals.h"

namespace millrace::service {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kGeneratedPairs = 2000;

struct Size {
  int width = 0;
  int height = 0;
};

absl::StatusOr<Size> SizeOf(const std::string& text) {
  const std::vector<std::string> sides = absl::StrSplit(text, 'x');
  Size size;
  if (sides.size() == 2 && absl::SimpleAtoi(sides[0], &size.width) &&
      absl::SimpleAtoi(sides[1], &size.height) && size.width > 0 && size.height > 0) {
    return size;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--size ", text, "; it is WIDTHxHEIGHT, as 192x144"));
}

absl::Status CheckNoTruth(const std::string& truth, const std::string& hidden) {
  if (truth.empty() && hidden.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--truth and --hidden go with a folder of pictures, one file for each pair");
}

// The clips of an evaluation, as named on the command line.
class Inputs {
 public:
  Inputs(const EvaluateFlowArguments& arguments, Size size) : arguments_(arguments), size_(size) {}

  absl::StatusOr<std::vector<pipeline::ClipSource>> Clips(
      const std::vector<std::uint64_t>& seeds) const {
    std::vector<pipeline::ClipSource> clips;
    if (arguments_.input == "generated") {
      MILLRACE_RETURN_IF_ERROR(CheckNoTruth(arguments_.truth, arguments_.hidden));
      for (const std::uint64_t seed : seeds) clips.push_back(Generated(seed));
      return clips;
    }
    MILLRACE_ASSIGN_OR_RETURN(pipeline::ClipSource clip,
                              ClipOf(arguments_.input, arguments_.truth, arguments_.hidden));
    clips.push_back(std::move(clip));
    return clips;
  }

  absl::StatusOr<std::vector<pipeline::ClipSource>> Others() const {
    std::vector<pipeline::ClipSource> clips;
    for (const std::string& input : arguments_.others) {
      MILLRACE_ASSIGN_OR_RETURN(pipeline::ClipSource clip, ClipOf(input, "", ""));
      clips.push_back(std::move(clip));
    }
    return clips;
  }

 private:
  [[nodiscard]] pipeline::ClipSource Generated(std::uint64_t seed) const {
    return pipeline::GeneratedClip(
        {.width = size_.width,
         .height = size_.height,
         .seed = seed,
         .pairs = arguments_.pairs > 0 ? arguments_.pairs : kGeneratedPairs,
         .speed = arguments_.speed,
         .frames_per_second = arguments_.frames_per_second});
  }

  [[nodiscard]] absl::StatusOr<pipeline::ClipSource> ClipOf(const std::string& input,
                                                            const std::string& truth,
                                                            const std::string& hidden) const {
    // This seed generates a stream that no run learns from.
    if (input == "generated") return Generated(arguments_.first_seed + arguments_.seeds);
    std::error_code none;
    if (fs::is_directory(input, none)) {
      MILLRACE_ASSIGN_OR_RETURN(
          pipeline::ClipSource clip,
          pipeline::ImageFolder({.pictures = input,
                                 .truth = truth,
                                 .hidden = hidden,
                                 .width = size_.width,
                                 .height = size_.height,
                                 .frames_per_second = arguments_.frames_per_second}));
      return FirstPairs(std::move(clip), arguments_.pairs);
    }
    MILLRACE_RETURN_IF_ERROR(CheckNoTruth(truth, hidden));
    MILLRACE_ASSIGN_OR_RETURN(pipeline::ClipSource clip,
                              VideoClip(input, size_.width, size_.height));
    return FirstPairs(std::move(clip), arguments_.pairs);
  }

  const EvaluateFlowArguments& arguments_;
  const Size size_;
};

// Sets the task and its references from the options.
absl::Status PrepareTask(EvaluateFlowArguments& arguments) {
  pipeline::FlowEvaluationOptions& options = arguments.options;
  options.task.next_frame = arguments.task == "next_frame";
  if (options.task.next_frame) {
    options.references = {"none"};
    if (!arguments.truth.empty() || !arguments.hidden.empty()) {
      return absl::InvalidArgumentError(
          "--truth and --hidden say how things moved, and not how they go on: leave them out with "
          "--task next_frame");
    }
  }
  if (!arguments.references.empty()) options.references = arguments.references;
  return absl::OkStatus();
}

absl::Status PrepareFolder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return absl::UnavailableError(absl::StrCat(folder, ": ", error.message()));
  return CheckWritable(absl::StrCat(folder, "/evaluation.json"));
}

absl::Status Prepare(EvaluateFlowArguments& arguments) {
  MILLRACE_RETURN_IF_ERROR(PrepareTask(arguments));
  if (!arguments.out.empty()) {
    if (!arguments.no_plots) MILLRACE_RETURN_IF_ERROR(CheckGnuplot());
    MILLRACE_RETURN_IF_ERROR(PrepareFolder(arguments.out));
  }
  pipeline::FlowEvaluationOptions& options = arguments.options;
  options.window = std::chrono::round<std::chrono::nanoseconds>(
      std::chrono::duration<double>(arguments.window_s));
  options.frozen = !arguments.no_frozen;
  options.seeds.clear();
  for (int i = 0; i < arguments.seeds; ++i) options.seeds.push_back(arguments.first_seed + i);
  MILLRACE_ASSIGN_OR_RETURN(const Size size, SizeOf(arguments.size));
  const Inputs inputs(arguments, size);
  MILLRACE_ASSIGN_OR_RETURN(options.clips, inputs.Clips(options.seeds));
  MILLRACE_ASSIGN_OR_RETURN(options.others, inputs.Others());
  return absl::OkStatus();
}

absl::StatusOr<pipeline::FlowEvaluation> Evaluate(pipeline::FlowEvaluationOptions& options) {
  ProgressBar bar(std::cerr, ProgressBar::OnStandardError("pairs"));
  options.on_progress = [&bar](std::int64_t done, std::int64_t all) { bar.Show(done, all); };
  absl::StatusOr<pipeline::FlowEvaluation> evaluation = pipeline::EvaluateFlow(options);
  bar.Finish();
  return evaluation;
}

absl::Status Run(EvaluateFlowArguments& arguments, const std::string& command) {
  MILLRACE_RETURN_IF_ERROR(Prepare(arguments));
  MILLRACE_ASSIGN_OR_RETURN(const pipeline::FlowEvaluation evaluation, Evaluate(arguments.options));
  const std::string tables = EvaluationTables(evaluation);
  std::cout << tables << std::flush;
  if (arguments.out.empty()) return absl::OkStatus();
  MILLRACE_RETURN_IF_ERROR(WriteFileAtomically(
      arguments.out + "/evaluation.json", EvaluationJson(arguments.options, evaluation, command)));
  MILLRACE_RETURN_IF_ERROR(WriteFileAtomically(arguments.out + "/tables.txt", tables));
  if (arguments.no_plots) return absl::OkStatus();
  return DrawPlots(EvaluationPlots(evaluation), arguments.out);
}

}  // namespace

int RunEvaluateFlow(EvaluateFlowArguments arguments, const std::string& command) {
  // First, because video decoding starts threads.
  StopSignals signals;
  std::stop_source stop;
  signals.Watch([&] { stop.request_stop(); });
  arguments.options.stop = stop.get_token();
  const absl::Status status = Run(arguments, command);
  signals.Forget();  // Watch()'s callback uses local variables.
  if (!status.ok()) std::cerr << "millrace evaluate flow: " << status.message() << "\n";
  return ExitCodeOf(status);
}

}  // namespace millrace::service
