#include "service/commands/join_command.h"

#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "pipeline/flow/flow_follower.h"
#include "pipeline/labels/label_follower.h"
#include "pipeline/offline/replay_ranks.h"
#include "pipeline/ranks/rank_task.h"
#include "pipeline/ranks/rendezvous.h"
#include "service/commands/rank_arguments.h"
#include "service/terminal/cli_exit_codes.h"
#include "service/terminal/cli_values.h"
#include "service/terminal/serve_signals.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

constexpr char kFooter[] = R"(
A leader, such as `millrace replay --ranks 1,0 --listen 10.0.0.1:29500 --secret-file FILE`, gives
this process its stages, weights and plan. This process needs no other file. While there is no
leader, it waits for one, and after a run it waits for the next.

Both sides need the same secret, the same version of Millrace and the same kind of processor. The
connections are not encrypted: use a private network.

Examples
  openssl rand -hex 32 > ranks.secret; chmod 600 ranks.secret     # once; copy it to all hosts
  millrace join 10.0.0.1:29500 --secret-file ranks.secret)";

// After a run, the leader may wait for its hosts already.
constexpr std::chrono::milliseconds kAfterRun{100};
constexpr std::chrono::milliseconds kRetry{1000};
// How long a process that a launcher has started waits for its leader to come back: after a run
// that ended well, and otherwise.
constexpr std::chrono::seconds kUntilEnd{2};
constexpr std::chrono::seconds kUntilGivenUp{60};

absl::Status FollowTask(pipeline::RankGroup& group) {
  MILLRACE_ASSIGN_OR_RETURN(pipeline::RankTask task, pipeline::ReceiveTask(group.wires()));
  if (task.flow) return pipeline::FollowFlow(group, std::move(task));
  if (task.labels) return pipeline::FollowLabels(group, std::move(task));
  return pipeline::FollowReplay(group, std::move(task));
}

// Until the end of the leader's stream. The others hear why it fails.
absl::Status Follow(const std::unique_ptr<pipeline::RankGroup> group, const std::stop_token& stop) {
  spdlog::info("joined as rank {} of {}", group->rank(), group->size());
  const std::stop_callback leave(stop, [&] { group->Leave(); });
  absl::Status end = FollowTask(*group);
  if (!end.ok()) group->wires().Abort(end);
  return end;
}

// Another try to join would not change these.
bool IsFinal(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsPermissionDenied(status) ||
         absl::IsFailedPrecondition(status);
}

// Waits, but not longer than until the stop.
void Pause(std::chrono::milliseconds time, const std::stop_token& stop) {
  Mutex mu;
  CondVar ended;
  const MutexLock lock(mu);
  ended.wait_for(mu, stop, time, [] { return false; });
}

absl::StatusOr<pipeline::JoinOptions> LeaderOf(const JoinArguments& arguments) {
  MILLRACE_ASSIGN_OR_RETURN(const HostAndPort leader, ParseHostAndPort(arguments.leader, "LEADER"));
  if (leader.port == 0) {
    return absl::InvalidArgumentError(
        "LEADER: port 0 is no port; write the one that the leader has");
  }
  MILLRACE_ASSIGN_OR_RETURN(std::string secret,
                            ReadRankSecret(arguments.secret_file, "--secret-file"));
  return pipeline::JoinOptions{.host = leader.host,
                               .port = leader.port,
                               .secret = std::move(secret),
                               .wish = arguments.rank};
}

// How the tries to join have gone.
class Tries {
 public:
  void Note(bool has_joined, const absl::Status& end) {
    if (has_joined) ended_well_ = end.ok();
    const bool is_alone = absl::IsNotFound(end);
    met_leader_ = met_leader_ || !is_alone;
    if (!is_alone) alone_since_ = kNotAlone;
    if (is_alone && met_leader_ && alone_since_ == kNotAlone) {
      alone_since_ = MonotonicClock().Now();
    }
  }

  // What the process ends with after the last try. nullopt: it tries again.
  [[nodiscard]] std::optional<absl::Status> End(Followed followed, bool has_joined,
                                                const absl::Status& end) const {
    if (followed == Followed::kOneRun) return end;
    if (!has_joined && IsFinal(end)) return end;
    if (followed == Followed::kAll || !LeaderHasEnded()) return std::nullopt;
    return ended_well_ ? absl::OkStatus() : end;
  }

 private:
  // For good. The last run, if there was one, may have failed.
  [[nodiscard]] bool LeaderHasEnded() const {
    if (alone_since_ == kNotAlone) return false;
    const nanoseconds limit = ended_well_ ? kUntilEnd : kUntilGivenUp;
    return MonotonicClock().Now() - alone_since_ >= limit;
  }

  static constexpr nanoseconds kNotAlone{-1};

  bool met_leader_ = false;
  bool ended_well_ = true;
  nanoseconds alone_since_ = kNotAlone;  // Since when no leader answers, after one has.
};

}  // namespace

absl::Status FollowLeaders(const pipeline::JoinOptions& leader, Followed followed,
                           const std::stop_token& stop) {
  std::string waiting_for;
  Tries tries;
  while (!stop.stop_requested()) {
    auto group = pipeline::JoinLeader(leader, stop);
    const bool has_joined = group.ok();
    const absl::Status end = has_joined ? Follow(*std::move(group), stop) : group.status();
    if (stop.stop_requested()) break;
    tries.Note(has_joined, end);
    if (std::optional<absl::Status> last = tries.End(followed, has_joined, end)) return *last;
    const std::string why = end.ok() ? "the run has ended" : std::string(end.message());
    if (why != waiting_for) spdlog::info("{}; waiting for a leader", why);
    waiting_for = why;
    Pause(has_joined ? kAfterRun : kRetry, stop);
  }
  return absl::OkStatus();
}

void AddJoin(CLI::App& app, JoinArguments& arguments) {
  CLI::App* join = app.add_subcommand("join", "Run stages of a network that another host leads");
  join->add_option("leader", arguments.leader, "HOST:PORT of the leader")
      ->required()
      ->option_text("LEADER REQUIRED");
  join->add_option("--secret-file", arguments.secret_file,
                   "The file with the secret that all ranks share")
      ->required();
  join->add_option(
          "--rank", arguments.rank,
          "The rank that this process gets, if others have not wished for lower ones. Left "
          "out: ranks go by the order of joining")
      ->check(WholeFrom(1));
  join->add_flag("--once", arguments.once,
                 "End after the first run, and fail if there is no leader");
  join->footer(kFooter);
}

int RunJoin(const JoinArguments& arguments) {
  StopSignals signals;  // Before other threads start, which inherit the blocked signals.
  std::stop_source stop;
  signals.Watch([&] { stop.request_stop(); });
  const absl::StatusOr<pipeline::JoinOptions> leader = LeaderOf(arguments);
  const Followed followed = arguments.once ? Followed::kOneRun : Followed::kAll;
  const absl::Status joined =
      leader.ok() ? FollowLeaders(*leader, followed, stop.get_token()) : leader.status();
  if (joined.ok()) return kExitOk;
  std::cerr << "millrace join: " << joined.message() << "\n";
  return ExitCodeOf(joined);
}

}  // namespace millrace::service
