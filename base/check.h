// MILLRACE_CHECK aborts the program where going on would corrupt data. For bugs, never for input.
#pragma once

namespace millrace {

/// Prints the place and the violated condition to standard error, then aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace millrace

/// Aborts, in release builds too, unless `condition` is true. Use assert where a release may go on.
#define MILLRACE_CHECK(condition) \
  ((condition) ? (void)0 : ::millrace::CheckFailed(__FILE__, __LINE__, #condition))
