// The name that was meant by one that there is not: "did you mean".
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace millrace {

/// The one of `known` that `name` most probably was meant to be: it differs by the fewest letters,
/// one of a short word, and two, or a third, of a long one. Empty: none is near. The first of
/// equals.
[[nodiscard]] std::string Nearest(std::string_view name, std::span<const std::string> known);

}  // namespace millrace
