#include "service/commands/replay_command.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "pipeline/engine/run_history.h"
#include "pipeline/ranks/rendezvous.h"
#include "pipeline/ranks/sealed_text.h"
#include "pipeline/timeline/timeline_event.h"
#include "service/commands/local_ranks.h"
#include "service/commands/plan/drawing_files.h"
#include "service/commands/plan/run_drawing.h"
#include "service/commands/rank_arguments.h"
#include "service/terminal/cli_exit_codes.h"
#include "service/terminal/cli_optimizer.h"
#include "service/terminal/cli_values.h"

namespace millrace::service {
namespace {

constexpr char kFooter[] = R"(
The model's top-level children, in order, are its layers: each reads the output of the previous
one. The samples are a dict of the tensors `inputs` and `targets`, sample first. Each sample is
scored once, before the network learns from it. The output is a dict: `outputs`, `samples` (their
numbers), `losses`, and `weights.NAME` for every final parameter and buffer.

In Python
  network = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
  torch.jit.script(network).save("m.pt")
  torch.save({"inputs": inputs, "targets": targets}, "s.pt")
  ... millrace replay ...
  result = torch.load("o.pt")

The same files and options give the same bits, except with --period-ms, which measures the layers.

With --ranks, other processes run some stages: the results have the same bits. They are started on
this machine, or wait on other hosts (`millrace join --help`). Rank 0 is this process, and has the
last stage.

--svg and --trace show the run beside its plan. Each operation of the plan takes its median time in
this run.

Examples
  millrace replay --model m.pt --samples s.pt --out o.pt --learning-rate 0.1
  millrace replay --model m.pt --samples s.pt --out o.pt --schedule partime --stages 1,1,1
  millrace replay --model m.pt --samples s.pt --out o.pt --schedule gpipe --stages 2,1 \
      --micro-batches 8 --optimizer adam --learning-rate 0.001
  millrace replay --model m.pt --samples s.pt --out o.pt --schedule partime --stages 1,1,1 \
      --ranks 1,1,0)";

void AddSchedule(CLI::App& replay, ReplayArguments& arguments) {
  pipeline::ReplayOptions& options = arguments.options;
  replay.add_option("--schedule", options.schedule, "The schedule")
      ->check(ScheduleName())
      ->capture_default_str();
  replay
      .add_option("--stages", options.stages,
                  "Layers of each stage, as 3,2,3; together all layers. Left out: one stage")
      ->delimiter(',');
  replay
      .add_option("--micro-batches", options.request.samples,
                  "Samples of a pattern: gpipe, timeprest, pipedream_2bw, k_periodic")
      ->check(CLI::PositiveNumber);
  replay
      .add_option("--recompute", arguments.recompute,
                  "gpipe: the samples that go forward twice: always, except_last or never")
      ->capture_default_str();
  replay
      .add_option("--period-ms", options.request.period,
                  "one_f_one_b_star, one_f_one_b_one_w, interleaved: the period to plan for")
      ->check(CLI::Range(1e-6, 1e9));
  replay
      .add_option("--switch-at", options.request.switch_at,
                  "hybrid: the first sample of its sequential phase")
      ->check(WholeFrom(1))
      ->capture_default_str();
  replay.add_flag("--separate-backwards", options.request.separate_backwards,
                  "stale, hybrid: backwards on threads of their own");
}

// Limit per device: enough to see the pattern, in a file that browsers can still open.
constexpr std::int64_t kMaxRecorded = 20'000;

absl::Status Draw(const ReplayArguments& arguments, const pipeline::ReplaySummary& summary,
                  const pipeline::RunHistory& recorder) {
  const RecordedRun run{.schedule = arguments.options.schedule,
                        .phases = summary.phases,
                        .samples = summary.samples,
                        .events = pipeline::EventsOf(recorder.Since(std::chrono::nanoseconds(0))),
                        .left_out = recorder.left_out()};
  if (run.left_out > 0) {
    std::cerr << absl::StrFormat(
        "millrace replay: drew the first %d operations of each device; %d are left out\n",
        kMaxRecorded, run.left_out);
  }
  return WriteDrawings(
      arguments.drawings, [&] { return RunSvg(run); }, [&] { return RunTrace(run); });
}

// The other ranks, on this machine or on others.
class OtherRanks {
 public:
  explicit OtherRanks(const ReplayArguments& arguments) : arguments_(arguments) {}

  absl::StatusOr<std::unique_ptr<pipeline::RankGroup>> Join(int size) {
    return arguments_.listen.empty() ? Start(size) : Await(size);
  }
  // Waits until they have ended, if they were started here.
  absl::Status Wait() { return local_ ? local_->Wait() : absl::OkStatus(); }

 private:
  absl::StatusOr<std::unique_ptr<pipeline::RankGroup>> Start(int size) {
    const std::string secret = pipeline::MakeNonce();
    MILLRACE_ASSIGN_OR_RETURN(leader_, pipeline::RankLeader::Listen({.secret = secret}));
    MILLRACE_ASSIGN_OR_RETURN(
        local_,
        LocalRanks::Start(size - 1, {.host = "127.0.0.1", .port = leader_->port()}, secret));
    auto group = leader_->Gather({.size = size, .stop = local_->ended()});
    return absl::IsCancelled(group.status()) ? local_->FirstEnd() : std::move(group);
  }

  absl::StatusOr<std::unique_ptr<pipeline::RankGroup>> Await(int size) {
    MILLRACE_ASSIGN_OR_RETURN(HostAndPort address, ParseHostAndPort(arguments_.listen, "--listen"));
    MILLRACE_ASSIGN_OR_RETURN(const std::string secret,
                              ReadRankSecret(arguments_.secret_file, "--secret-file"));
    const auto on_joined = [](const std::string& name, int missing) {
      std::cerr << absl::StrFormat("%s has joined, %d missing\n", name, missing);
    };
    const auto on_refused = [](const absl::Status& why) {
      std::cerr << absl::StrFormat("not joined: %s\n", why.message());
    };
    MILLRACE_ASSIGN_OR_RETURN(leader_, pipeline::RankLeader::Listen({.host = address.host,
                                                                     .port = address.port,
                                                                     .secret = secret,
                                                                     .on_joined = on_joined,
                                                                     .on_refused = on_refused}));
    address.port = leader_->port();
    std::cerr << absl::StrFormat(
        "waiting for %d other process%s; on each host run: millrace join %s --secret-file FILE\n",
        size - 1, size == 2 ? "" : "es", ToString(address));
    return leader_->Gather({.size = size});
  }

  const ReplayArguments& arguments_;
  std::unique_ptr<LocalRanks> local_;
  std::unique_ptr<pipeline::RankLeader> leader_;
};

absl::Status CheckRankArguments(const ReplayArguments& arguments) {
  if (arguments.listen.empty() != arguments.secret_file.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--listen and --secret-file belong together; ",
                     arguments.listen.empty() ? "--listen" : "--secret-file", " is missing"));
  }
  if (!arguments.listen.empty() && arguments.options.rank_of_stage.empty()) {
    return absl::InvalidArgumentError("--listen needs --ranks, the rank of each stage");
  }
  const std::vector<int>& ranks = arguments.options.rank_of_stage;
  if (!arguments.listen.empty() && std::ranges::count(ranks, 0) == std::ssize(ranks)) {
    return absl::InvalidArgumentError("--listen: all stages are on rank 0, which is this process");
  }
  if (!arguments.options.rank_of_stage.empty() && arguments.drawings.any()) {
    return absl::InvalidArgumentError("--ranks has no drawing: leave out --svg and --trace");
  }
  return absl::OkStatus();
}

absl::StatusOr<pipeline::ReplaySummary> Run(const ReplayArguments& arguments) {
  pipeline::ReplayOptions options = arguments.options;
  MILLRACE_RETURN_IF_ERROR(CheckRankArguments(arguments));
  if (!std::isfinite(options.request.period)) {
    return absl::InvalidArgumentError("--period-ms must be a number of milliseconds");
  }
  MILLRACE_ASSIGN_OR_RETURN(options.optimizer.kind, pipeline::OptimizerKind(arguments.optimizer));
  MILLRACE_ASSIGN_OR_RETURN(options.request.recompute,
                            pipeline::RecomputeNamed(arguments.recompute));
  MILLRACE_RETURN_IF_ERROR(CheckDrawings(arguments.drawings, {"--out", options.output}));
  OtherRanks ranks(arguments);
  options.join_ranks = [&](const pipeline::JoinRequest& request) {
    return ranks.Join(request.size);
  };
  if (!arguments.drawings.any()) {
    MILLRACE_ASSIGN_OR_RETURN(pipeline::ReplaySummary summary, pipeline::Replay(options));
    MILLRACE_RETURN_IF_ERROR(ranks.Wait());
    return summary;
  }
  pipeline::RunHistory recorder({.operations = kMaxRecorded, .keeps_first = true});
  options.recorder = &recorder;
  MILLRACE_ASSIGN_OR_RETURN(pipeline::ReplaySummary summary, pipeline::Replay(options));
  MILLRACE_RETURN_IF_ERROR(Draw(arguments, summary, recorder));
  return summary;
}

}  // namespace

void AddReplay(CLI::App& app, ReplayArguments& arguments) {
  pipeline::ReplayOptions& options = arguments.options;
  options.optimizer.learning_rate = 0.01;
  options.optimizer.clip_update = 0;  // As torch.optim.
  CLI::App* replay = app.add_subcommand(
      "replay", "Teach a TorchScript network recorded samples, under any schedule");
  replay->add_option("--model", options.model, "The network, saved by torch.jit")->required();
  replay->add_option("--samples", options.samples, "The samples, saved by torch.save")->required();
  replay->add_option("-o,--out", options.output, "The file of results to write")->required();
  AddSchedule(*replay, arguments);
  AddOptimizer(*replay, arguments.optimizer, options.optimizer);
  replay->add_option("--loss", options.loss, "mse, l1 or cross_entropy")->capture_default_str();
  replay
      ->add_option("--ranks", options.rank_of_stage,
                   "The rank (process) of each stage, as 1,1,0: falling to 0")
      ->delimiter(',');
  replay->add_option("--listen", arguments.listen,
                     "HOST:PORT of this host: wait there for the other ranks");
  replay->add_option("--secret-file", arguments.secret_file,
                     "With --listen: the file with the secret that all ranks share");
  replay->add_option("--threads-per-stage", options.threads_per_stage, "Threads in an operation")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  replay->add_option("--seed", options.seed, "Seed of the layers' random numbers")
      ->check(WholeFrom(0))
      ->capture_default_str();
  AddDrawings(*replay, arguments.drawings);
  replay->footer(kFooter);
}

int RunReplay(const ReplayArguments& arguments) {
  const absl::StatusOr<pipeline::ReplaySummary> summary = Run(arguments);
  if (!summary.ok()) {
    std::cerr << "millrace replay: " << summary.status().message() << "\n";
    return ExitCodeOf(summary.status());
  }
  std::cout << absl::StrFormat(
      "%d samples, %s, %d stage%s, %d updates: mean loss of the first tenth %.6g, of the last "
      "%.6g; wrote %s\n",
      summary->samples, arguments.options.schedule, summary->stages,
      summary->stages == 1 ? "" : "s", summary->updates, summary->first_loss, summary->last_loss,
      arguments.options.output);
  return kExitOk;
}

}  // namespace millrace::service
