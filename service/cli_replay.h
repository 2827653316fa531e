// The command line of `millrace replay`.
#pragma once

#include "service/cmd_replay.h"

namespace CLI {
class App;
}  // namespace CLI

namespace millrace::service {

/// Adds the command to `app`, which will write into `arguments`.
void AddReplay(CLI::App& app, ReplayArguments& arguments);

}  // namespace millrace::service
