// Texts that stay short, whatever a client or a configuration makes them of: an error must fit into
// what gRPC carries beside a response.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::service {

/// "a, b, c", or "a, b and 40 more" where that would be long.
[[nodiscard]] std::string ShortList(const std::vector<std::string>& names);

/// The bytes that gRPC sends for `text` in a header: what is not plain ASCII takes three each.
[[nodiscard]] std::size_t HeaderBytes(std::string_view text);

/// `text`, or so much of it that HeaderBytes() is at most `most`: whole lines and how many more
/// there are, or else the beginning of the first line and "...". UTF-8 stays such.
/// REQUIRES: most >= 64.
[[nodiscard]] std::string Shortened(std::string_view text, std::size_t most);

}  // namespace millrace::service
