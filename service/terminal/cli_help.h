// What --help looks like: in lines that fit the terminal it is read on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "service/terminal/cli_app.h"

namespace millrace::service {

/// `text` in lines of at most `columns`, broken between words; a longer word has a line of its own.
/// Line ends of `text` stay.
[[nodiscard]] std::string Wrapped(std::string_view text, std::size_t columns);

/// As Wrapped(), for text with examples and tables: lines that begin with a space, and empty ones,
/// stay as they are, and neighbouring others are one paragraph.
[[nodiscard]] std::string WrappedParagraphs(std::string_view text, std::size_t columns);

/// What --help says of an option between its names and what it means: what it takes, its default,
/// which others it needs.
[[nodiscard]] std::string OptionTakes(const CLI::Option& option);

/// What it means; also the values of an option that has a fixed few.
[[nodiscard]] std::string OptionMeans(const CLI::Option& option);

/// Has the commands that are added to `app` from now on, and itself, explain themselves in at most
/// `columns`, but for what cannot be broken; and say of a wrong command line which command it was
/// for, and where to read on.
void ExplainWell(CLI::App& app, std::size_t columns);

}  // namespace millrace::service
