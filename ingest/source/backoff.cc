#include "ingest/source/backoff.h"

#include <algorithm>

#include "base/check.h"

namespace millrace::ingest {

Backoff::Backoff(const BackoffOptions& options, std::uint64_t seed)
    : options_(options), random_(seed), wait_(options.first) {
  MILLRACE_CHECK(options.first > std::chrono::nanoseconds(0));
  MILLRACE_CHECK(options.first <= options.longest);
  MILLRACE_CHECK(options.jitter >= 0 && options.jitter < 1);
}

std::chrono::nanoseconds Backoff::Next() {
  std::uniform_real_distribution<double> spread(1 - options_.jitter, 1 + options_.jitter);
  const std::chrono::duration<double, std::nano> wait = wait_ * spread(random_);
  wait_ = std::min(2 * wait_, options_.longest);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(wait);
}

}  // namespace millrace::ingest
