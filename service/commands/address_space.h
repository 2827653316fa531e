// Checks whether `ulimit -v` leaves the program enough address space.
//
// The libraries crash or hang if they get no thread or no memory. So a limit that is far too low is
// refused with a message before any library is used.
#pragma once

#include <cstddef>

#include "absl/status/status.h"

namespace millrace::service {

/// RESOURCE_EXHAUSTED, with the limit and a remedy, if a server of `streams` streams would not fit.
[[nodiscard]] absl::Status CheckAddressSpace(std::size_t streams);

/// If even the libraries would not fit, prints a message to standard error and exits with
/// kExitFailure. Uses no library, so it may be called before their initialization.
void EndIfAddressSpaceIsTiny();

}  // namespace millrace::service
