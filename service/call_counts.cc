#include "service/call_counts.h"

#include "base/check.h"

namespace millrace::service {

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

std::vector<CallCounts::Method> CallCounts::Read() const {
  const MutexLock lock(mu_);
  std::vector<Method> methods;
  for (const auto& [name, method] : methods_) methods.push_back(method);
  return methods;
}

}  // namespace millrace::service
