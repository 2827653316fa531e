#include "service/commands/evaluate/gnuplot.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"

extern char** environ;

namespace millrace::service {
namespace {

constexpr char kHowToGet[] =
    "plots need gnuplot, which is not installed: `apt-get install gnuplot-nox`, or leave out the "
    "plots with --no-plots";

struct Ended {
  int exit_code = 0;
  std::string said;
};

// A program's combined output and exit code. 127: the program cannot be run.
Ended RunProgram(std::vector<std::string> arguments, const std::string& folder) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {127, std::generic_category().message(errno)};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv.front(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  Ended ended;
  std::array<char, 4096> piece{};
  for (ssize_t got = 0; error == 0 && (got = ::read(ends[0], piece.data(), piece.size())) > 0;) {
    ended.said.append(piece.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  if (error != 0) return {127, std::generic_category().message(error)};
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ended.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  return ended;
}

}  // namespace

absl::Status CheckGnuplot() {
  if (RunProgram({"gnuplot", "--version"}, ".").exit_code == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(kHowToGet);
}

absl::Status RunGnuplot(const std::string& folder, const std::string& file) {
  const Ended ended = RunProgram({"gnuplot", file}, folder);
  if (ended.exit_code == 0) return absl::OkStatus();
  if (ended.exit_code == 127) return absl::FailedPreconditionError(kHowToGet);
  return absl::InternalError(absl::StrCat("gnuplot ", folder, "/", file, ": ", ended.said));
}

}  // namespace millrace::service
