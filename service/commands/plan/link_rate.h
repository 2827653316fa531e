// The rate of a network link, as users write it.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace millrace::service {

/// Bytes per second of "1gbit", "200 Mbit/s", "10Gbps", "2.5Gb/s" or "125MB/s". Prefixes are powers
/// of 1000, in any case. A "b" is a bit, and a "B" is a byte. Fails with INVALID_ARGUMENT naming
/// `option`, with examples.
[[nodiscard]] absl::StatusOr<double> ParseLinkRate(std::string_view text, std::string_view option);

/// "1 Gbit/s", "2.5 Gbit/s".
[[nodiscard]] std::string LinkRateText(double bytes_per_second);

}  // namespace millrace::service
