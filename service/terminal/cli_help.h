// Formats --help to fit the terminal's width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "service/terminal/cli_app.h"

namespace millrace::service {

/// `text` wrapped at `columns`, between words. A longer word gets its own line. Line ends of `text`
/// stay.
[[nodiscard]] std::string Wrapped(std::string_view text, std::size_t columns);

/// As Wrapped(), for text with examples and tables. Lines that begin with a space, and empty lines,
/// stay as they are. Other neighbouring lines form one paragraph.
[[nodiscard]] std::string WrappedParagraphs(std::string_view text, std::size_t columns);

/// The part of an option's help between its names and its description: value, default, required
/// options.
[[nodiscard]] std::string OptionTakes(const CLI::Option& option);

/// An option's description, with its list of values if that list is fixed.
[[nodiscard]] std::string OptionMeans(const CLI::Option& option);

/// Formats the help of `app` and of its later subcommands to at most `columns`, as far as lines can
/// be broken. Also makes the error text of a wrong command line name the command and its --help.
void ExplainWell(CLI::App& app, std::size_t columns);

}  // namespace millrace::service
