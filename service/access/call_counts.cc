#include "service/access/call_counts.h"

#include "base/check.h"

namespace millrace::service {
namespace {

// In seconds: from a read of memory to a call that waits for a network to load.
const prometheus::Histogram::BucketBoundaries& DurationBuckets() {
  static const prometheus::Histogram::BucketBoundaries buckets = {
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0};
  return buckets;
}

}  // namespace

CallCounts::CallCounts() : durations_(DurationBuckets()) {}

void CallCounts::Expect(const std::vector<std::string>& methods) {
  const MutexLock lock(mu_);
  for (const std::string& method : methods) methods_[method].name = method;
}

bool CallCounts::Expects(std::string_view method) const {
  const MutexLock lock(mu_);
  return methods_.contains(method);
}

void CallCounts::Add(std::string_view method, int code) {
  const MutexLock lock(mu_);
  const auto found = methods_.find(method);
  MILLRACE_CHECK(found != methods_.end());
  ++found->second.calls.at(static_cast<std::size_t>(code));
}

void CallCounts::AddDuration(std::chrono::nanoseconds took) {
  const MutexLock lock(mu_);
  durations_.Observe(std::chrono::duration<double>(took).count());
}

prometheus::ClientMetric CallCounts::Durations() const {
  const MutexLock lock(mu_);
  return durations_.Collect();
}

std::vector<CallCounts::Method> CallCounts::Read() const {
  const MutexLock lock(mu_);
  std::vector<Method> methods;
  for (const auto& [name, method] : methods_) methods.push_back(method);
  return methods;
}

}  // namespace millrace::service
