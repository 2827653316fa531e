// The command line of the program `millrace`: what it accepts, and its help.
//
// A file of its own, because its library takes longest to compile.
#pragma once

namespace millrace::service {

/// Parses the command line, runs the command and returns the program's exit code
/// (cli_exit_codes.h).
[[nodiscard]] int RunCommandLine(int argc, char** argv);

}  // namespace millrace::service
