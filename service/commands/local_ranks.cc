#include "service/commands/local_ranks.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
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
      absl::StrCat("cannot hand the ranks their secret: ", std::strerror(errno)));
}

// The same program. Returns 0, or the error.
int Spawn(const HostAndPort& leader, int secret, pid_t& pid) {
  const std::string address = ToString(leader);
  const std::string file = absl::StrCat("/proc/self/fd/", kSecretAt);
  std::vector<const char*> words = {"millrace",   "join",   address.c_str(), "--secret-file",
                                    file.c_str(), "--once", nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, secret, kSecretAt);
  // posix_spawn() does not change the words.
  const int failed = ::posix_spawn(&pid, "/proc/self/exe", &actions, nullptr,
                                   const_cast<char* const*>(words.data()),  // NOLINT
                                   environ);
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
      return absl::ResourceExhaustedError(
          absl::StrCat("cannot start a process for a rank: ", std::strerror(failed)));
    }
    process->waiter = std::jthread([one = process.get(), ended = ranks->failed_]() mutable {
      while (::waitpid(one->pid, &one->status, 0) < 0 && errno == EINTR) continue;
      if (one->status != 0) ended.request_stop();
    });
    ranks->processes_.push_back(std::move(process));
  }
  return ranks;
}

LocalRanks::~LocalRanks() {
  // A process that has been waited for keeps its status; its number may belong to another one.
  for (const auto& process : processes_) {
    if (process->waiter.joinable()) ::kill(process->pid, SIGKILL);
  }
}

absl::Status LocalRanks::Wait() {
  for (const auto& process : processes_) process->waiter.join();
  for (const auto& process : processes_) {
    if (process->status == 0) continue;
    return absl::UnavailableError(
        absl::StrCat("the process ", process->pid, " of a rank ", EndOf(process->status)));
  }
  return absl::OkStatus();
}

}  // namespace millrace::service
