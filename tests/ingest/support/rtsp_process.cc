#include "tests/ingest/support/rtsp_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

extern char** environ;

namespace millrace::ingest {
namespace {

/// One line from `output`, without its end.
std::string ReadLine(int output) {
  std::string line;
  for (char c = 0; read(output, &c, 1) == 1 && c != '\n';) line.push_back(c);
  return line;
}

}  // namespace

RtspProcess::RtspProcess(const std::vector<std::string>& arguments) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  EXPECT_EQ(pipe2(in.data(), O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::string program = MILLRACE_RTSP_CAMERA;
  std::vector<std::string> copies = arguments;
  std::vector<char*> argv = {program.data()};
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  EXPECT_EQ(posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  output_ = out[0];
  url_ = NextLine();
  EXPECT_FALSE(url_.empty()) << "the camera did not start";
}

std::string RtspProcess::port() const {
  const std::size_t start = url_.rfind(':') + 1;
  return url_.substr(start, url_.find('/', start) - start);
}

bool RtspProcess::HasSaidMore() const {
  pollfd output = {.fd = output_, .events = POLLIN, .revents = 0};
  return poll(&output, 1, /*timeout=*/0) > 0;
}

std::string RtspProcess::NextLine() const { return ReadLine(output_); }

void RtspProcess::Kill() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  close(input_);
  close(output_);
  pid_ = -1;
}

}  // namespace millrace::ingest
