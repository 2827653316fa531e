// Measures how long pictures stay away after damage to a camera's data, without a new session.
#pragma once

#include "nlohmann/json.hpp"

namespace millrace::benchmarks {

/// Plays a camera for each thing that may happen, and for nothing to compare with, `rounds` times,
/// for some seconds each; prints a table and returns the figures, in milliseconds. Ends the program
/// with exit code 1 where the thing does not happen: then something else was measured. For one
/// thread.
[[nodiscard]] nlohmann::json MeasurePauses(int rounds);

}  // namespace millrace::benchmarks
