// Counts in words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace millrace::service {

/// "1 stage", "2 stages".
[[nodiscard]] inline std::string Plural(std::size_t count, std::string_view noun) {
  return absl::StrCat(count, " ", std::string(noun), count == 1 ? "" : "s");
}

}  // namespace millrace::service
