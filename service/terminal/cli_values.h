// Validators of options that take a few names or a number. --help shows the valid values,
// completion offers them, and the error message names them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"

namespace millrace::service {

/// Accepts one of `names`; for a list option, checks each element. The error suggests the nearest
/// name.
[[nodiscard]] CLI::Validator OneOf(std::vector<std::string> names);

/// Accepts a schedule's name or one of `more`.
[[nodiscard]] CLI::Validator ScheduleName(std::vector<std::string> more = {});

/// Accepts an integer of at least `min`.
[[nodiscard]] CLI::Validator WholeFrom(std::uint64_t min);

}  // namespace millrace::service
