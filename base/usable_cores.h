// The number of CPU cores that this process may use.
#pragma once

namespace millrace {

/// The smaller of the CPU affinity and the container's quota.
[[nodiscard]] double UsableCores();

}  // namespace millrace
