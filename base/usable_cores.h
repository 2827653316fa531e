// How many cores of the CPU this process may use.
#pragma once

namespace millrace {

/// Those of its affinity, or of its container's quota.
[[nodiscard]] double UsableCores();

}  // namespace millrace
