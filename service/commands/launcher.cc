#include "service/commands/launcher.h"

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace millrace::service {
namespace {

struct Launcher {
  const char* name;
  const char* rank;
  const char* size;    // Null: it does not say.
  const char* leader;  // Null: it does not say.
};

constexpr Launcher kOwn = {"MILLRACE_RANK", "MILLRACE_RANK", "MILLRACE_RANKS", "MILLRACE_LEADER"};

// Inner ones first: torchrun or mpirun may run in a job of Slurm, whose variables they inherit.
constexpr Launcher kOthers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", nullptr},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr},
    {"MPI", "PMI_RANK", "PMI_SIZE", nullptr},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NODELIST"},
    {"LeaderWorkerSet", "LWS_WORKER_INDEX", "LWS_GROUP_SIZE", "LWS_LEADER_ADDRESS"},
    {"the indexed Job", "JOB_COMPLETION_INDEX", nullptr, nullptr},
};

// "" if it is not set.
std::string ValueOf(const Environment& environment, const char* name) {
  const char* const value = name != nullptr ? environment(name) : nullptr;
  return value != nullptr ? value : "";
}

absl::StatusOr<int> ReadNumber(const Environment& environment, const char* name, int min) {
  const std::string text = ValueOf(environment, name);
  int number = 0;
  if (absl::SimpleAtoi(text, &number) && number >= min) return number;
  return absl::InvalidArgumentError(absl::StrCat("the environment variable ", name, " is \"", text,
                                                 "\"; it must be a number from ", min, " on"));
}

// A launcher that says how many processes there are always does: without it, the rank is another
// program's.
bool HasStartedThis(const Launcher& launcher, const Environment& environment) {
  return environment(launcher.rank) != nullptr &&
         (launcher.size == nullptr || environment(launcher.size) != nullptr);
}

absl::StatusOr<std::optional<LaunchedRank>> Read(const Launcher& launcher,
                                                 const Environment& environment) {
  LaunchedRank launched{.launcher = launcher.name, .size = std::nullopt, .leader = {}};
  MILLRACE_ASSIGN_OR_RETURN(launched.rank, ReadNumber(environment, launcher.rank, 0));
  if (!ValueOf(environment, launcher.size).empty()) {
    MILLRACE_ASSIGN_OR_RETURN(launched.size, ReadNumber(environment, launcher.size, 1));
    if (launched.rank >= *launched.size) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the environment variable ", launcher.rank, " is ", launched.rank, ", and ",
          launcher.size, " is ", *launched.size, "; ranks count from 0, so it must be less"));
    }
  }
  launched.leader = FirstHost(ValueOf(environment, launcher.leader));
  return launched;
}

}  // namespace

absl::StatusOr<std::optional<LaunchedRank>> ReadLauncher(const Environment& environment) {
  if (environment(kOwn.rank) != nullptr) return Read(kOwn, environment);
  for (const Launcher& launcher : kOthers) {
    if (!HasStartedThis(launcher, environment)) continue;
    MILLRACE_ASSIGN_OR_RETURN(std::optional<LaunchedRank> launched, Read(launcher, environment));
    const std::string leader = ValueOf(environment, "MASTER_ADDR");
    if (!leader.empty()) launched->leader = leader;
    // mpirun inside of a job of Slurm, or its plugin for PMI.
    if (launched->leader.empty()) {
      launched->leader = FirstHost(ValueOf(environment, "SLURM_STEP_NODELIST"));
    }
    return launched;
  }
  return std::nullopt;
}

std::string FirstHost(std::string_view list) {
  std::string host;
  for (std::size_t i = 0; i < list.size() && list[i] != ',';) {
    if (list[i] != '[') {
      host.push_back(list[i++]);
      continue;
    }
    const std::size_t end = list.find(']', i);
    const std::string_view numbers = list.substr(i + 1, end - i - 1);
    host.append(numbers.substr(0, numbers.find_first_of("-,")));
    i = end == std::string_view::npos ? list.size() : end + 1;
  }
  return host;
}

}  // namespace millrace::service
