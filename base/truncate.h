// Limits the length of texts that contain client or configuration data. An error must fit into the
// headers that gRPC sends beside a response.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::service {

/// "a, b, c", or "a, b and 40 more" if the list would be long.
[[nodiscard]] std::string ShortList(const std::vector<std::string>& names);

/// The bytes that gRPC sends for `text` in a header. A '%', and each byte outside printable ASCII,
/// takes three.
[[nodiscard]] std::size_t HeaderBytes(std::string_view text);

/// `text`, shortened so that HeaderBytes() is at most `max_bytes`. The result has whole lines and
/// the number of lines left out, or the beginning of the first line and "...". Valid UTF-8 stays
/// valid. REQUIRES: max_bytes >= 64.
[[nodiscard]] std::string Truncated(std::string_view text, std::size_t max_bytes);

}  // namespace millrace::service
