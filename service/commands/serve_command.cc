#include "service/commands/serve_command.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "base/log_about.h"
#include "base/mutex.h"
#include "base/plural.h"
#include "base/status.h"
#include "pipeline/learner/flow_network_names.h"
#include "pipeline/ranks/rendezvous.h"
#include "service/commands/evaluate/reference_comparison.h"
#include "service/commands/join_command.h"
#include "service/commands/launcher.h"
#include "service/commands/machine.h"
#include "service/commands/machine_check.h"
#include "service/commands/rank_arguments.h"
#include "service/commands/rank_door.h"
#include "service/config/config_file.h"
#include "service/config/warm_start.h"
#include "service/console/progress.h"
#include "service/net/http_message.h"
#include "service/registry/turns.h"
#include "service/server/cli_log.h"
#include "service/server/real_stream.h"
#include "service/server/serve.h"
#include "service/terminal/cli_exit_codes.h"
#include "service/terminal/cli_values.h"
#include "service/terminal/serve_signals.h"
#include "service/terminal/terminal.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

constexpr char kFooter[] = R"(
SIGTERM and SIGINT (Ctrl-C) end it within three seconds. Before, frames inside the pipeline get
their predictions, subscribers get a last message, and a summary is printed. If a thread hangs,
the program ends after twelve seconds, without them. A second signal ends it at once.

SIGHUP makes it read the configuration again: streams start, stop and change accordingly. The log
names the changes that need a restart.

Under torchrun, srun, mpirun or Kubernetes, start the same command on all hosts. With the section
`ranks` in the configuration, rank 0 serves, and the others run stages for it (docs/many-hosts.md).

The log goes to stderr. Banner, progress and summary go to stdout.

Examples
  millrace serve
  millrace serve --config samples/millrace.yaml
  millrace serve --config samples/millrace.yaml --frames 500 --summary-json summary.json)";

/// Limit from SIGTERM to the end, even if a thread hangs. A slow disk has time for the last
/// checkpoints, and systemd waits longer (deploy/systemd).
constexpr std::chrono::seconds kStopLimit(12);

/// Checked at the start, so that a run of hours does not end with an unwritable summary.
absl::Status CheckSummaryFile(const std::string& summary_json) {
  if (summary_json.empty()) return absl::OkStatus();
  const absl::Status writable = CheckWritable(summary_json);
  if (writable.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--summary-json: ", std::string(writable.message())));
}

/// A missing file is likely a new user's: the error says how to write one.
absl::StatusOr<ConfigFile> LoadOrSayHow(const std::string& path) {
  absl::StatusOr<ConfigFile> file = LoadConfigFile(path);
  if (!absl::IsNotFound(file.status())) return file;
  return absl::NotFoundError(absl::StrCat(file.status().message(),
                                          ". Write one with millrace init URI, or name one with "
                                          "--config"));
}

/// Warns about random weights. A checkpoint, if one exists, replaces them.
void WarnOfColdStart(const StreamConfig& config) {
  if (IsOfLabels(config.task) || !config.learner.weights.empty()) return;
  if (pipeline::IsNetworkFile(config.flow.network)) return;
  const LogAbout about(config.name);
  spdlog::warn("stream '{}': the network {} starts from random weights: {}", config.name,
               config.flow.network, CostOfColdStart(config.flow.network));
}

/// A learner's construction measures the costs of its operations. Only one learner is measured at a
/// time, because concurrent measurements would disturb each other. A network that never answers
/// keeps no other stream waiting for good.
void MakeInTurn(RankDoor& ranks, CameraStream::Options& options) {
  static Turns measuring({.on_overtaken = WarnOfLongStart});
  options.make_learner = [&ranks, make = std::move(options.make_learner)](
                             const StreamConfig& config, pipeline::OnPrediction call,
                             const pipeline::LearnerHooks& hooks) mutable
      -> absl::StatusOr<std::unique_ptr<pipeline::Learner>> {
    MILLRACE_ASSIGN_OR_RETURN(const Turns::Turn turn, measuring.Take(config.name, hooks.stop));
    pipeline::LearnerHooks with_ranks = hooks;
    if (ranks.is_open()) {
      with_ranks.join_ranks = [&ranks, stream = config.name](const pipeline::JoinRequest& request) {
        return ranks.Gather(stream, request);
      };
    }
    return make(config, std::move(call), with_ranks);
  };
}

absl::StatusOr<std::unique_ptr<CameraStream>> StartRealStream(RankDoor& ranks,
                                                              const StreamConfig& config,
                                                              StreamObservers observers,
                                                              const std::stop_token& stop) {
  CameraStream::Options options = RealStream(config);
  MakeInTurn(ranks, options);
  options.observe = std::move(observers.observe);
  options.on_source_state = std::move(observers.on_source_state);
  options.on_learner_state = std::move(observers.on_learner_state);
  options.on_overload = std::move(observers.on_overload);
  options.admit = std::move(observers.admit);
  if (config.scores.compare_with != "none") {
    MILLRACE_ASSIGN_OR_RETURN(
        options.compare,
        CompareWith(config.scores.compare_with, config.learner.width, config.learner.height));
  }
  WarnOfColdStart(config);
  const LogAbout about(config.name);
  spdlog::info("{}: measuring how fast this machine learns", config.name);
  return CameraStream::Start(std::move(options), stop);
}

/// This process among those of a launcher, and where the leader listens.
struct Place {
  LaunchedRank launched;
  std::string listen;
};

/// `listen`, with the leader's host if it names no host.
absl::StatusOr<std::string> WithHost(const std::string& listen,
                                     const std::optional<LaunchedRank>& launched) {
  if (NamesHost(listen)) return listen;
  if (!launched || launched->leader.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ranks.listen: '", listen, "' names no host, and ",
        launched ? launched->launcher + " does not say who leads" : "no launcher has started this",
        ": write HOST:PORT, or set MASTER_ADDR"));
  }
  return absl::StrCat(UrlHost(launched->leader), listen);
}

/// Each stream needs processes of its own.
absl::Status CheckEnough(const LaunchedRank& launched, const std::vector<StreamConfig>& streams) {
  int needed = 1;
  for (const StreamConfig& stream : streams) {
    const std::vector<int>& ranks = stream.learner.rank_of_stage;
    needed += ranks.empty() ? 0 : ranks.front();
  }
  if (launched.size.value_or(needed) >= needed) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the streams need ", Plural(needed, "process", "es"),
                   " with this server (schedule.stages_on), and ", launched.launcher,
                   " has started ", *launched.size));
}

/// Without a launcher, or without `ranks` in the configuration, this process leads. Fails with
/// INVALID_ARGUMENT if the leader's host is unknown, and with FAILED_PRECONDITION if there are
/// fewer processes than the streams need.
absl::StatusOr<Place> PlaceOf(const Config& config) {
  Place place{.launched = {}, .listen = config.ranks.listen};
  if (place.listen.empty()) return place;
  const auto environment = [](const char* name) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment.
    return std::getenv(name);
  };
  MILLRACE_ASSIGN_OR_RETURN(const std::optional<LaunchedRank> launched, ReadLauncher(environment));
  MILLRACE_ASSIGN_OR_RETURN(place.listen, WithHost(place.listen, launched));
  if (!launched) return place;
  place.launched = *launched;
  MILLRACE_RETURN_IF_ERROR(CheckEnough(*launched, config.streams));
  return place;
}

/// Runs stages for the server that a launcher has started beside this process.
absl::Status FollowServer(const Place& place, const RanksConfig& ranks,
                          const std::stop_token& stop) {
  MILLRACE_ASSIGN_OR_RETURN(const HostAndPort leader,
                            ParseHostAndPort(place.listen, "ranks.listen"));
  if (leader.port == 0) {
    return absl::InvalidArgumentError(
        "ranks.listen: with port 0, the other processes cannot know the leader's port");
  }
  MILLRACE_ASSIGN_OR_RETURN(std::string secret,
                            ReadRankSecret(ranks.secret_file, "ranks.secret_file"));
  spdlog::info("started by {} as rank {}: joins the server at {}", place.launched.launcher,
               place.launched.rank, ToString(leader));
  return FollowLeaders({.host = leader.host,
                        .port = leader.port,
                        .secret = std::move(secret),
                        .wish = place.launched.rank},
                       Followed::kOneLeader, stop);
}

/// Relays signals' requests to the server while it exists. Signals are watched the whole time,
/// because the server's start and its destruction may hang, too. Thread-safe.
class SignalRelay {
 public:
  void RequestStop() ABSL_LOCKS_EXCLUDED(mu_) {
    stop_.request_stop();
    const MutexLock lock(mu_);
    Relay();
  }
  [[nodiscard]] std::stop_token stop() const { return stop_.get_token(); }
  void Reload() ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    reload_ = true;
    Relay();
  }
  /// Null: the server no longer exists.
  void HandTo(Serve* serve) ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    serve_ = serve;
    Relay();
  }

 private:
  // Called with the lock held, so that the server is not destroyed meanwhile. Both calls are quick.
  void Relay() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (serve_ == nullptr) return;
    if (stop_.stop_requested()) serve_->RequestStop();
    if (std::exchange(reload_, false)) serve_->Reload();
  }

  std::stop_source stop_;
  Mutex mu_;
  Serve* serve_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool reload_ ABSL_GUARDED_BY(mu_) = false;
};

absl::Status ServeConfig(const ServeArguments& arguments, SignalRelay& signals) {
  MILLRACE_RETURN_IF_ERROR(CheckSummaryFile(arguments.summary_json));
  MILLRACE_ASSIGN_OR_RETURN(ConfigFile file, LoadOrSayHow(arguments.config));
  MILLRACE_ASSIGN_OR_RETURN(const Place place, PlaceOf(file.config));
  if (place.launched.rank > 0) return FollowServer(place, file.config.ranks, signals.stop());
  MILLRACE_RETURN_IF_ERROR(RaiseLimits(file));
  // Checked before the slow measurement of the layers.
  const Machine machine = ThisMachine();
  if (file.problems.empty()) MILLRACE_RETURN_IF_ERROR(PortsInUse(file, machine));
  MILLRACE_RETURN_IF_ERROR(CheckMachine(file, machine));
  RankDoor ranks;
  MILLRACE_RETURN_IF_ERROR(ranks.Open(file.config.ranks, place.listen));
  Serve serve({.config = std::move(file.config),
               .frames = arguments.frames,
               .summary_json = arguments.summary_json,
               .progress = !arguments.no_progress,
               .verbose = arguments.verbose,
               .out = &std::cout,
               .terminal = isatty(STDOUT_FILENO) != 0,
               .columns = [] { return TerminalColumns(kProgressColumns); },
               .load = [path = arguments.config] { return LoadConfigAgain(path); },
               .start_stream = std::bind_front(StartRealStream, std::ref(ranks)),
               .memory_need = MemoryNeedOf});
  signals.HandTo(&serve);
  const absl::Cleanup no_server = [&signals] { signals.HandTo(nullptr); };
  return serve.Run();
}

}  // namespace

void AddServe(CLI::App& app, ServeArguments& arguments) {
  CLI::App* serve =
      app.add_subcommand("serve", "Learn from the configured cameras and serve the predictions");
  serve->add_option("-c,--config", arguments.config, "The configuration (YAML)")
      ->capture_default_str();
  serve
      ->add_option("--frames", arguments.frames,
                   "End once every stream has this many predictions; 0: no limit. Frames inside "
                   "the pipeline still get predictions, so the summary may count a few more")
      ->check(WholeFrom(0))
      ->capture_default_str();
  serve->add_option("--summary-json", arguments.summary_json,
                    "Write the summary of the run to this file at the end");
  serve->add_flag("--no-progress", arguments.no_progress, "Print no line of progress");
  serve->add_flag("--verbose", arguments.verbose,
                  "Also print the plan, its stages, their staleness, and the delay's p99");
  serve->footer(kFooter);
}

int RunServe(const ServeArguments& arguments) {
  SignalRelay relay;
  StopSignals signals(StopSignals::HangUp::kAsksToReload, kStopLimit);
  // SIGHUP comes from a closed terminal, or from a user as a request to reload.
  const auto hang_up = [&relay, had_terminal = HasTerminal()] {
    had_terminal && !HasTerminal() ? relay.RequestStop() : relay.Reload();
  };
  signals.Watch([&relay] { relay.RequestStop(); }, hang_up);
  const absl::Status status = ServeConfig(arguments, relay);
  if (!status.ok()) LogFailure(std::string(status.message()));
  return ExitCodeOf(status);
}

}  // namespace millrace::service
