// Measures how long pictures stay away after damage to a camera's data, without a new session.
#pragma once

#include "nlohmann/json.hpp"

namespace millrace::benchmarks {

/// Plays a camera with each kind of damage, and without damage as a baseline, `rounds` times for
/// some seconds each. Prints a table and returns the values, in milliseconds. Ends the program with
/// exit code 1 if the damage does not happen, because then the measurement is wrong. For one
/// thread.
[[nodiscard]] nlohmann::json MeasurePauses(int rounds);

}  // namespace millrace::benchmarks
