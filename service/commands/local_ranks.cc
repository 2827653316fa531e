#include "service/commands/local_ranks.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/descriptor.h"
#include "base/status.h"

namespace millrace::service {
namespace {

// The descriptor of the secret in a child.
constexpr int kSecretAt = 3;

// A file without a name, which only its owner may read.
absl::StatusOr<Descriptor> FileOf(const std::string& secret) {
  Descriptor file(::memfd_create("ranks", MFD_CLOEXEC));
  const bool written =
      file.value() >= 0 && ::fchmod(file.value(), S_IRUSR) == 0 &&
      ::write(file.value(), secret.data(), secret.size()) == static_cast<ssize_t>(secret.size());
  if (written) return file;
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot hand the ranks their secret: ", std::generic_category().message(errno)));
}

// The same program. Returns 0, or the error.
int Spawn(const HostAndPort& leader, int secret, pid_t& pid) {
  const std::string address = ToString(leader);
  const std::string file = absl::StrCat("/proc/self/fd/", kSecretAt);
  std::vector<const char*> words = {"millrace",   "join",   address.c_str(), "--secret-file",
                                    file.c_str(), "--once", nullptr};
  // Their news would mix with the leader's.
  std::vector<std::string> variables = {"MILLRACE_LOG=warning"};
  for (char** one = environ; *one != nullptr; ++one) variables.emplace_back(*one);
  std::vector<char*> environment;
  for (std::string& one : variables) environment.push_back(one.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, secret, kSecretAt);
  // posix_spawn() does not change the words.
  const int failed = ::posix_spawn(&pid, "/proc/self/exe", &actions, nullptr,
                                   const_cast<char* const*>(words.data()),  // NOLINT
                                   environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  return failed;
}

std::string EndOf(int status) {
  return WIFSIGNALED(status) ? absl::StrCat("was ended by signal ", WTERMSIG(status))
                             : absl::StrCat("ended with exit code ", WEXITSTATUS(status));
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalRanks>> LocalRanks::Start(int count, const HostAndPort& leader,
                                                              const std::string& secret) {
  MILLRACE_ASSIGN_OR_RETURN(const Descriptor file, FileOf(secret));
  std::unique_ptr<LocalRanks> ranks(new LocalRanks);
  for (int i = 0; i < count; ++i) {
    auto process = std::make_unique<Process>();
    if (const int failed = Spawn(leader, file.value(), process->pid); failed != 0) {
      return absl::ResourceExhaustedError(absl::StrCat("cannot start a process for a rank: ",
                                                       std::generic_category().message(failed)));
    }
    process->waiter = std::jthread([&ranks = *ranks, pid = process->pid] { ranks.Await(pid); });
    ranks->processes_.push_back(std::move(process));
  }
  return ranks;
}

// The process keeps its number until its end is in the list, so that no other process can have it.
void LocalRanks::Await(pid_t pid) {
  siginfo_t info{};
  while (::waitid(P_PID, pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) continue;
  {
    const MutexLock lock(mu_);
    End end{.pid = pid};
    ::waitpid(pid, &end.status, 0);
    ends_.push_back(end);
  }
  ended_.request_stop();
}

LocalRanks::~LocalRanks() {
  const MutexLock lock(mu_);
  for (const auto& process : processes_) {
    const bool has_ended =
        std::ranges::any_of(ends_, [&](const End& end) { return end.pid == process->pid; });
    if (!has_ended) ::kill(process->pid, SIGKILL);
  }
}

absl::Status LocalRanks::FirstEnd() {
  const MutexLock lock(mu_);
  const End& first = ends_.front();
  return absl::UnavailableError(absl::StrCat("the process ", first.pid, " of a rank ",
                                             EndOf(first.status), " before it had joined"));
}

absl::Status LocalRanks::Wait() {
  for (const auto& process : processes_) process->waiter.join();
  const MutexLock lock(mu_);
  for (const End& end : ends_) {
    if (end.status == 0) continue;
    return absl::UnavailableError(
        absl::StrCat("the process ", end.pid, " of a rank ", EndOf(end.status)));
  }
  return absl::OkStatus();
}

}  // namespace millrace::service
