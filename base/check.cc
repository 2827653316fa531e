#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace millrace {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: a bug in millrace: this must hold and does not: %s\n", file, line,
               condition);
  std::abort();
}

}  // namespace millrace
