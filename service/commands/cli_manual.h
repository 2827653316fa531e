// The command line as a manual page and as a completion for shells: made from the same text as
// --help, so that they cannot say something else.
#pragma once

#include <string>
#include <string_view>

#include "service/terminal/cli_app.h"

namespace millrace::service {

/// For man(1): every command, option and footer of `app`, the program's whole command line.
[[nodiscard]] std::string ManPage(const CLI::App& app, std::string_view version);

/// A script that bash reads, and zsh with its bashcompinit: it completes commands, options, their
/// values where those are a fixed few, and files everywhere else.
[[nodiscard]] std::string ShellCompletion(const CLI::App& app);

/// Adds the commands `man` and `completion`, which print them.
void AddManual(CLI::App& app);

/// What the one of both that was chosen prints; empty if neither was.
[[nodiscard]] std::string ChosenManual(const CLI::App& app, std::string_view version);

}  // namespace millrace::service
