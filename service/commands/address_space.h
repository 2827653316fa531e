// Whether `ulimit -v` leaves the program enough addresses to live.
//
// The libraries below end the process with a signal, or hang, where they get no thread or no
// memory. So a limit that is far too low is refused in words before they are asked.
#pragma once

#include <cstddef>

#include "absl/status/status.h"

namespace millrace::service {

/// RESOURCE_EXHAUSTED, with the limit and what to do, if a server of so many streams would not fit.
[[nodiscard]] absl::Status CheckAddressSpace(std::size_t streams);

/// Ends the process with kExitFailure and words on standard error if not even the libraries would
/// fit. Uses nothing of them, so that it can be called before they are initialized.
void EndIfAddressSpaceIsTiny();

}  // namespace millrace::service
