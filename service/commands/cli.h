// The command line of the program `millrace`: its options and its help.
//
// In a separate file because CLI11 takes long to compile.
#pragma once

namespace millrace::service {

/// Parses the command line, runs the command and returns the program's exit code
/// (cli_exit_codes.h).
[[nodiscard]] int RunCommandLine(int argc, char** argv);

}  // namespace millrace::service
