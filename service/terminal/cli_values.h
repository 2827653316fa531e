// What options take, where it is a few names or a number: said by --help, offered by completion,
// and refused with what would do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"

namespace millrace::service {

/// One of `names`, and of a list each. The nearest is said of one that there is not.
[[nodiscard]] CLI::Validator OneOf(std::vector<std::string> names);

/// One of the schedules' names, and of `more`.
[[nodiscard]] CLI::Validator ScheduleName(std::vector<std::string> more = {});

/// A whole number of at least `least`.
[[nodiscard]] CLI::Validator WholeFrom(std::uint64_t least);

}  // namespace millrace::service
