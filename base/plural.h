// A count with its noun.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace millrace {

/// "1 stage", "2 stages"; "1 pass", "2 passes" with the ending "es".
[[nodiscard]] std::string Plural(std::integral auto count, std::string_view noun,
                                 std::string_view ending = "s") {
  return absl::StrCat(count, " ", std::string(noun), count == 1 ? "" : std::string(ending));
}

}  // namespace millrace
