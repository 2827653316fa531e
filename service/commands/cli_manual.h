// The manual page and the shell completion, generated from the same text as --help, so that they
// always agree.
#pragma once

#include <string>
#include <string_view>

#include "service/terminal/cli_app.h"

namespace millrace::service {

/// The page for man(1): every command, option and footer of `app`, the whole command line.
[[nodiscard]] std::string ManPage(const CLI::App& app, std::string_view version);

/// A script for bash, and for zsh with its bashcompinit. It completes commands, options and fixed
/// lists of values, and elsewhere file names.
[[nodiscard]] std::string ShellCompletion(const CLI::App& app);

/// Adds the commands `man` and `completion`, which print them.
void AddManual(CLI::App& app);

/// The output of `man` or `completion`, if chosen; else empty.
[[nodiscard]] std::string ChosenManual(const CLI::App& app, std::string_view version);

}  // namespace millrace::service
