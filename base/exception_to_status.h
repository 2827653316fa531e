// Converts an exception to an absl::Status at a boundary. A boundary is the top of a thread, a
// callback of a C library, or a call into a module that throws.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace millrace {

/// The result of `call`: a Status or a StatusOr; OK if it returns nothing. If it throws, the result
/// is `convert(text)`, an error made of the exception's text.
template <typename Call, typename Convert,
          typename Result = std::conditional_t<std::is_void_v<std::invoke_result_t<Call&>>,
                                               absl::Status, std::invoke_result_t<Call&>>,
          typename = std::enable_if_t<std::is_invocable_v<const Convert&, std::string_view>>>
[[nodiscard]] Result ExceptionToStatus(Call&& call, const Convert& convert) {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Call&>>) {
      call();
      return absl::OkStatus();
    } else {
      return call();
    }
  } catch (const std::exception& error) {
    return convert(error.what());
  } catch (...) {
    return convert("it threw something that is no std::exception");
  }
}

/// The same. An exception becomes INTERNAL with `context` before its text.
template <typename Call>
[[nodiscard]] auto ExceptionToStatus(Call&& call, std::string_view context = "") {
  return ExceptionToStatus(call, [context](std::string_view text) {
    return absl::InternalError(absl::StrCat(std::string(context), std::string(text)));
  });
}

}  // namespace millrace
