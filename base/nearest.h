// Finds the known name closest to an unknown one: "did you mean".
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace millrace {

/// The name in `known` that `name` probably meant: the one with the smallest edit distance. A short
/// name may differ by one letter, a long one by two letters or a third of them. Of equally near
/// names the first; empty if no name is near.
[[nodiscard]] std::string Nearest(std::string_view name, std::span<const std::string> known);

}  // namespace millrace
