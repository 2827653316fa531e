// `millrace join`: runs stages of a network that another process leads.
#pragma once

#include <string>

#include "CLI/App.hpp"

namespace millrace::service {

struct JoinArguments {
  /// HOST:PORT of the leader.
  std::string leader;
  std::string secret_file;
  /// Ends with the first run.
  bool once = false;
};

void AddJoin(CLI::App& app, JoinArguments& arguments);

/// Returns the program's exit code.
int RunJoin(const JoinArguments& arguments);

}  // namespace millrace::service
