#include "service/commands/evaluate/evaluate_flow_command.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/atomic_file.h"
#include "base/plural.h"
#include "base/status.h"
#include "pipeline/classical/reference_flow.h"
#include "pipeline/comparison/clip_folder.h"
#include "pipeline/comparison/generated_clip.h"
#include "pipeline/learner/flow_loss_options.h"
#include "service/commands/evaluate/evaluated_optimizers.h"
#include "service/commands/evaluate/evaluation_json.h"
#include "service/commands/evaluate/evaluation_plots.h"
#include "service/commands/evaluate/evaluation_table.h"
#include "service/commands/evaluate/flow_runs_folder.h"
#include "service/commands/evaluate/gnuplot.h"
#include "service/commands/evaluate/pairs_list.h"
#include "service/commands/evaluate/video_clip.h"
#include "service/terminal/cli_exit_codes.h"
#include "service/terminal/cli_network.h"
#include "service/terminal/cli_optimizer.h"
#include "service/terminal/cli_values.h"
#include "service/terminal/progress_bar.h"
#include "service/terminal/serve_signals.h"

namespace millrace::service {
namespace {

constexpr char kFooter[] = R"(
Each combination of network, schedule, number of stages, optimizer, camera rate and seed is a run.
A run learns from the stream once, in order. Each flow is scored before the model learns from its
pair. Then learning ends, and the final weights are tested on the first and the last window and on
--others. The initial weights are tested beside them. The first window also tests the weights right
after it.

`generated` is a synthetic stream with exactly known motion; each seed has its own. Other inputs
are the same for all seeds. A seed draws the random weights. One file of --weights starts all
seeds; with one file for each seed, each has its own start.

With --camera-rates the camera does not wait: a slow learner drops frames. Time is simulated, as if
each stage had its own device. Under `delayed` all stages have one. --step-ms is the cost of one
sample on one device. The layers' shares of it are measured. With --real-time nothing is simulated:
the stages share the cores of this machine, which should have no other work. Only then can `hybrid`
run behind a camera.

--task next_frame predicts each picture from the previous two. Each prediction is scored before the
model learns from the picture, beside the guess that the newest picture stays.

The pictures of a folder are ordered by name: 0009.png before 0010.png, but 10.png before 9.png.

--out FOLDER gets evaluation.json (every figure, by window), tables.txt, and plots as .svg, each
beside its .gp for gnuplot. Its folder `runs` has a file for each finished run. The same command
continues an evaluation that was interrupted. With further schedules, optimizers or seeds, only the
new runs are made. A changed program, input or option repeats the runs that it concerns. So do
--pairs-list, and inputs that are pipes, devices or URIs.

Examples
  millrace evaluate flow generated --seeds 5 --out cold
  millrace evaluate flow street.mp4 --weights refine-start.safetensors \
      --schedules sequential,partime --stages 2,4 --learning-rate 1e-4
  millrace evaluate flow generated --schedules sequential,partime --stages 4 \
      --optimizers rmsprop,adam:3e-4,sgd:0.01 --momentum 0.9
  millrace evaluate flow generated --camera-rates 10,20,40 --step-ms 60 --stages 2,4 \
      --schedules sequential,one_f_one_b_star --seeds 5 --out camera
  millrace evaluate flow street.mp4 --camera-rates 30,60 --real-time --stages 2 \
      --schedules sequential,one_f_one_b_star --weights refine-start.safetensors
  millrace evaluate flow pictures/ --truth flow/ --size 1024x432
  millrace evaluate flow --pairs-list pairs.txt --weights refine-start.safetensors
  millrace evaluate flow street.mp4 --pseudo-truth --weights refine-start.safetensors \
      --learning-rate 1e-4
  millrace evaluate flow street.mp4 --task next_frame --weights refine-start.safetensors \
      --learning-rate 1e-4)";

// CLI11's own bound would appear in every message as a number of 309 digits.
CLI::Range Count() { return {1, 1'000'000}; }
CLI::Range Rate() { return {1e-3, 1e6}; }

void AddInput(CLI::App& flow, EvaluateFlowArguments& arguments) {
  flow.add_option("input", arguments.input, "generated, a video file, or a folder of pictures");
  flow.add_option("--pairs-list", arguments.pairs_list,
                  "Instead of an input: a file of inputs. Each line names a folder of pictures, "
                  "a folder of the true motion and, if it is not --size, a size. The model "
                  "begins again with each. Without tests after learning, and without plots");
  flow.add_option("--size", arguments.size, "Size to which pictures are scaled: WIDTHxHEIGHT")
      ->capture_default_str();
  flow.add_option("--pairs", arguments.pairs,
                  "End after this many pairs of pictures. 0: all; 2000 of the generated stream")
      ->check(CLI::Range(0, 1'000'000'000))
      ->capture_default_str();
  flow.add_option("--speed", arguments.speed,
                  "Of the generated stream: the mean motion between two pictures, in pixels")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  flow.add_option("--truth", arguments.truth,
                  "For a folder: a folder of the true motion, .flo or KITTI's .png");
  flow.add_option("--hidden", arguments.hidden,
                  "For a folder: a folder of masks, not black at pixels that get hidden");
  flow.add_flag("--pseudo-truth", arguments.pseudo_truth,
                "For a real video: the true motion is where DIS (fine) and Lucas-Kanade agree. "
                "Takes half a second and five bytes a pixel for each pair");
  flow.add_option("--frames-per-second", arguments.frames_per_second,
                  "The frame rate of a folder and of the generated stream")
      ->check(Rate())
      ->capture_default_str();
  flow.add_option("--others", arguments.others,
                  "Further inputs to test the final model on, without learning from them")
      ->delimiter(',');
}

void AddRuns(CLI::App& flow, EvaluateFlowArguments& arguments) {
  pipeline::FlowEvaluationOptions& options = arguments.options;
  flow.add_option("--networks", options.networks, NetworkHelp())
      ->delimiter(',')
      ->check(NetworkCheck())
      ->capture_default_str();
  flow.add_option("--schedules", options.schedules, "The schedules")
      ->delimiter(',')
      ->check(ScheduleName())
      ->capture_default_str();
  flow.add_option("--stages", options.stages, "Numbers of stages; sequential always has one")
      ->delimiter(',')
      ->check(Count())
      ->capture_default_str();
  flow.add_option("--switch-at", options.switch_at,
                  "hybrid: the first pair of its sequential phase. 0: the middle one")
      ->check(CLI::Range(0, 1'000'000'000))
      ->capture_default_str();
  flow.add_option("--seeds", arguments.seeds, "Number of seeds of each run")
      ->check(Count())
      ->capture_default_str();
  flow.add_option("--first-seed", arguments.first_seed, "The first seed")
      ->check(CLI::Range(0, 1'000'000'000))
      ->capture_default_str();
  flow.add_option("--camera-rates", options.camera_rates,
                  "Frames a second of a camera that does not wait. Left out: every pair waits")
      ->delimiter(',')
      ->check(Rate());
  flow.add_flag("--real-time", options.real_time,
                "With --camera-rates: the camera's clock is this machine's, and learners run as "
                "fast as this machine lets them. Otherwise time is simulated");
  flow.add_option("--step-ms", options.step_ms,
                  "The simulated cost of a sample on one device. 0: as measured here")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  flow.add_option("--spread", options.spread,
                  "Standard deviation of the logarithm of an operation's simulated time")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void AddLearning(CLI::App& flow, EvaluateFlowArguments& arguments) {
  pipeline::FlowLossOptions& loss = arguments.options.task.loss;
  flow.add_option("--task", arguments.task,
                  "flow, the motion between pictures, or next_frame, the coming picture")
      ->check(OneOf({"flow", "next_frame"}))
      ->capture_default_str();
  flow.add_option(
          "--weights", arguments.options.weights,
          "Begin with these, from `millrace pretrain`: one file, or one for each seed. Left "
          "out: random ones")
      ->delimiter(',')
      ->allow_extra_args(false);
  AddOptimizer(flow, arguments.optimizer, arguments.options.learner.optimizer);
  flow.add_option("--optimizers", arguments.optimizers,
                  "Compare these instead of --optimizer, each NAME or NAME:LEARNING_RATE")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->excludes("--optimizer");
  flow.add_option_function<std::string>(
          "--loss",
          [&loss](const std::string& name) {
            loss.kind = *pipeline::FlowLossKind(name);  // CLI11 checked it.
          },
          "The loss function")
      ->check(OneOf(pipeline::FlowLossNames()))
      ->default_str("relative");
  flow.add_option("--smoothness", arguments.options.smoothness,
                  "Weight of the smoothness term. Left out: 10 for refine, else 0.1")
      ->check(CLI::NonNegativeNumber);
  flow.add_flag("--occlusion", loss.occlusion,
                "Find hidden pixels by flow in both directions, and do not learn from them");
}

void AddOutput(CLI::App& flow, EvaluateFlowArguments& arguments) {
  pipeline::FlowEvaluationOptions& options = arguments.options;
  flow.add_option("--references", arguments.references,
                  "Methods without learning, on the same pairs")
      ->delimiter(',')
      ->check(OneOf(pipeline::ReferenceFlowNames()))
      ->default_str(absl::StrJoin(options.references, ",") + "; of next_frame none");
  flow.add_option("--window", arguments.window_s, "Seconds of the stream in a window")
      ->check(CLI::Range(1e-3, 1e9))
      ->capture_default_str();
  flow.add_flag("--no-frozen", arguments.no_frozen, "Skip the tests after the end of learning");
  flow.add_option("--jobs", options.jobs, "Number of concurrent runs")
      ->check(Count())
      ->capture_default_str();
  flow.add_option("-o,--out", arguments.out,
                  "A folder for JSON, tables and plots; made if missing");
  flow.add_flag("--no-plots", arguments.no_plots, "Draw no plots");
}

namespace fs = std::filesystem;

constexpr std::int64_t kGeneratedPairs = 2000;

absl::StatusOr<PictureSize> SizeOf(const std::string& text) {
  if (const std::optional<PictureSize> size = PictureSizeOf(text)) return *size;
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
  Inputs(const EvaluateFlowArguments& arguments, PictureSize size)
      : arguments_(arguments), size_(size) {}

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
  const PictureSize size_;
};

// Sets the task and its references from the options.
absl::Status PrepareTask(EvaluateFlowArguments& arguments) {
  pipeline::FlowEvaluationOptions& options = arguments.options;
  options.task.next_frame = arguments.task == "next_frame";
  if (options.task.next_frame) {
    options.references = {"none"};
    if (!arguments.truth.empty() || !arguments.hidden.empty()) {
      return absl::InvalidArgumentError(
          "--truth and --hidden describe motion, not the next frame: leave them out with --task "
          "next_frame");
    }
  }
  if (!arguments.references.empty()) options.references = arguments.references;
  return absl::OkStatus();
}

absl::Status PrepareFolder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return absl::UnavailableError(absl::StrCat(folder, ": ", error.message()));
  MILLRACE_RETURN_IF_ERROR(CheckWritable(absl::StrCat(folder, "/evaluation.json")));
  const std::string runs = folder + "/runs";
  if (!fs::exists(runs, error)) return absl::OkStatus();
  return CheckWritable(absl::StrCat(runs, "/run.json"));
}

absl::Status CheckPseudoTruth(const EvaluateFlowArguments& arguments) {
  if (!arguments.pseudo_truth) return absl::OkStatus();
  if (arguments.input == "generated" || !arguments.truth.empty()) {
    return absl::InvalidArgumentError(
        "--pseudo-truth is for videos and pictures without a known motion: leave it out");
  }
  if (!arguments.others.empty()) {
    return absl::InvalidArgumentError("--others have no pseudo-truth: leave one of the two out");
  }
  if (arguments.options.task.next_frame) {
    return absl::InvalidArgumentError(
        "--pseudo-truth is motion, not the next frame: leave it out with --task next_frame");
  }
  return absl::OkStatus();
}

/// What all evaluations of a command have in common.
absl::Status PrepareRuns(EvaluateFlowArguments& arguments) {
  MILLRACE_RETURN_IF_ERROR(PrepareTask(arguments));
  pipeline::FlowEvaluationOptions& options = arguments.options;
  pipeline::OptimizerOptions& optimizer = options.learner.optimizer;
  MILLRACE_ASSIGN_OR_RETURN(optimizer.kind, pipeline::OptimizerKind(arguments.optimizer));
  MILLRACE_ASSIGN_OR_RETURN(options.optimizers,
                            EvaluatedOptimizers(arguments.optimizers, optimizer));
  if (!arguments.out.empty()) {
    if (!arguments.no_plots) MILLRACE_RETURN_IF_ERROR(CheckGnuplot());
    MILLRACE_RETURN_IF_ERROR(PrepareFolder(arguments.out));
  }
  options.window = std::chrono::round<std::chrono::nanoseconds>(
      std::chrono::duration<double>(arguments.window_s));
  options.frozen = !arguments.no_frozen;
  options.seeds.clear();
  for (int i = 0; i < arguments.seeds; ++i) options.seeds.push_back(arguments.first_seed + i);
  return absl::OkStatus();
}

absl::Status Prepare(EvaluateFlowArguments& arguments) {
  MILLRACE_RETURN_IF_ERROR(PrepareRuns(arguments));
  MILLRACE_RETURN_IF_ERROR(CheckPseudoTruth(arguments));
  pipeline::FlowEvaluationOptions& options = arguments.options;
  MILLRACE_ASSIGN_OR_RETURN(const PictureSize size, SizeOf(arguments.size));
  const Inputs inputs(arguments, size);
  MILLRACE_ASSIGN_OR_RETURN(options.clips, inputs.Clips(options.seeds));
  MILLRACE_ASSIGN_OR_RETURN(options.others, inputs.Others());
  options.pseudo_truth = arguments.pseudo_truth;
  return absl::OkStatus();
}

absl::StatusOr<pipeline::FlowEvaluation> Evaluate(pipeline::FlowEvaluationOptions& options) {
  ProgressBar bar(std::cerr, ProgressBar::OnStandardError("pairs"));
  options.on_progress = [&bar](std::int64_t done, std::int64_t all) { bar.Show(done, all); };
  absl::StatusOr<pipeline::FlowEvaluation> evaluation = pipeline::EvaluateFlow(options);
  bar.Finish();
  return evaluation;
}

absl::StatusOr<pipeline::FlowEvaluation> EvaluateOrContinue(EvaluateFlowArguments& arguments) {
  if (arguments.out.empty()) return Evaluate(arguments.options);
  FlowRunsFolder runs(arguments.out + "/runs", arguments);
  arguments.options.store = &runs;
  absl::StatusOr<pipeline::FlowEvaluation> evaluation = Evaluate(arguments.options);
  arguments.options.store = nullptr;
  if (absl::IsCancelled(evaluation.status())) {
    return absl::CancelledError(absl::StrCat(
        std::string(evaluation.status().message()),
        ". The same command continues with what is finished, in ", arguments.out, "/runs"));
  }
  if (runs.found() > 0) {
    std::cerr << Plural(runs.found(), "result") << " came from " << arguments.out
              << "/runs. To repeat all runs, remove that folder\n";
  }
  return evaluation;
}

/// Prints the tables, and writes both into `folder` if it has a name.
absl::Status Report(const std::string& tables, const std::string& json, const std::string& folder) {
  std::cout << tables << std::flush;
  if (folder.empty()) return absl::OkStatus();
  MILLRACE_RETURN_IF_ERROR(WriteFileAtomically(folder + "/evaluation.json", json));
  return WriteFileAtomically(folder + "/tables.txt", tables);
}

absl::Status CheckList(const EvaluateFlowArguments& arguments) {
  if (!arguments.truth.empty() || !arguments.hidden.empty() || arguments.pseudo_truth ||
      !arguments.others.empty()) {
    return absl::InvalidArgumentError(
        "--pairs-list has pictures and truth of its own: leave out --truth, --hidden, "
        "--pseudo-truth and --others");
  }
  if (!arguments.options.camera_rates.empty()) {
    return absl::InvalidArgumentError(
        "--pairs-list begins again with each line, and has no camera: leave out --camera-rates");
  }
  if (arguments.task == "flow") return absl::OkStatus();
  return absl::InvalidArgumentError("--pairs-list is for --task flow");
}

// All lines, before the first is evaluated: a late error would lose hours.
absl::StatusOr<std::vector<EvaluatedPairs>> ClipsOfList(const EvaluateFlowArguments& arguments) {
  MILLRACE_ASSIGN_OR_RETURN(const PictureSize size, SizeOf(arguments.size));
  MILLRACE_ASSIGN_OR_RETURN(const std::vector<ListedPairs> list,
                            ReadPairsList(arguments.pairs_list, size));
  std::vector<EvaluatedPairs> all;
  for (const ListedPairs& pairs : list) {
    const absl::StatusOr<pipeline::ClipSource> clip =
        pipeline::ImageFolder({.pictures = pairs.pictures,
                               .truth = pairs.truth,
                               .width = pairs.size.width,
                               .height = pairs.size.height,
                               .frames_per_second = arguments.frames_per_second});
    if (!clip.ok()) {
      return absl::Status(clip.status().code(),
                          absl::StrCat(pairs.place, ": ", std::string(clip.status().message())));
    }
    all.push_back({.name = pairs.name, .options = arguments.options, .evaluation = {}});
    all.back().options.clips = {FirstPairs(*clip, arguments.pairs)};
  }
  return all;
}

absl::Status RunList(EvaluateFlowArguments& arguments, const std::string& command) {
  arguments.no_frozen = true;  // A pair has no windows and no end of learning.
  arguments.no_plots = true;
  MILLRACE_RETURN_IF_ERROR(CheckList(arguments));
  MILLRACE_RETURN_IF_ERROR(PrepareRuns(arguments));
  MILLRACE_ASSIGN_OR_RETURN(std::vector<EvaluatedPairs> all, ClipsOfList(arguments));
  ProgressBar bar(std::cerr, ProgressBar::OnStandardError("lines"));
  std::int64_t done = 0;
  for (EvaluatedPairs& pairs : all) {
    MILLRACE_ASSIGN_OR_RETURN(pairs.evaluation, pipeline::EvaluateFlow(pairs.options));
    bar.Show(++done, static_cast<std::int64_t>(all.size()));
  }
  bar.Finish();
  return Report(PairsTable(all), PairsJson(all, command), arguments.out);
}

absl::Status CheckInput(const EvaluateFlowArguments& arguments) {
  if (arguments.input.empty() != arguments.pairs_list.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      arguments.input.empty()
          ? "name an input: generated, a video file, a folder of pictures, or --pairs-list FILE"
          : "an input and --pairs-list exclude each other: leave one of the two out");
}

absl::Status Run(EvaluateFlowArguments& arguments, const std::string& command) {
  MILLRACE_RETURN_IF_ERROR(CheckInput(arguments));
  if (!arguments.pairs_list.empty()) return RunList(arguments, command);
  MILLRACE_RETURN_IF_ERROR(Prepare(arguments));
  MILLRACE_ASSIGN_OR_RETURN(const pipeline::FlowEvaluation evaluation,
                            EvaluateOrContinue(arguments));
  MILLRACE_RETURN_IF_ERROR(Report(EvaluationTables(evaluation),
                                  EvaluationJson(arguments.options, evaluation, command),
                                  arguments.out));
  if (arguments.out.empty() || arguments.no_plots) return absl::OkStatus();
  return DrawPlots(EvaluationPlots(evaluation), arguments.out);
}

}  // namespace

void AddEvaluateFlow(CLI::App& evaluate, EvaluateFlowArguments& arguments) {
  CLI::App* flow = evaluate.add_subcommand(
      "flow", "Compare learners of optical flow on a video, pictures or a generated stream");
  arguments.options.learner.optimizer.learning_rate = 3e-4;
  AddInput(*flow, arguments);
  AddRuns(*flow, arguments);
  AddLearning(*flow, arguments);
  AddOutput(*flow, arguments);
  flow->footer(kFooter);
}

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
