// A program of another project, run beside a test and ended with it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace millrace::ingest {

/// Runs a program, found as a shell finds it, without input and with its output in a file. The
/// destructor kills the program.
class ChildProcess {
 public:
  /// `log` takes what it prints.
  ChildProcess(const std::vector<std::string>& command, const std::string& log);
  ~ChildProcess() { Kill(); }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Ends it as a power cut would, and waits until it is gone. Idempotent.
  void Kill();

 private:
  pid_t pid_ = -1;
};

/// A TCP port of this machine without a listener. Another process might take it later.
[[nodiscard]] int FreePort();

/// Whether somebody listens there.
[[nodiscard]] bool Listens(int port);

}  // namespace millrace::ingest
