// How often each method of the API was called, and what the calls ended with.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"

namespace millrace::service {

/// Counts calls by method and by the code of the status that they ended with. Thread-safe.
class CallCounts {
 public:
  /// The codes of gRPC's statuses, and of absl's, which are the same: 0 to 16.
  static constexpr std::size_t kCodes = 17;

  /// Of one method; indexed by the code.
  struct Method {
    std::string name;
    std::array<std::uint64_t, kCodes> calls = {};
  };

  /// Counts the calls of these from now on: "millrace.v1.StreamService/GetStream".
  void Expect(const std::vector<std::string>& methods) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool Expects(std::string_view method) const ABSL_LOCKS_EXCLUDED(mu_);

  /// A call has ended. REQUIRES: `method` is expected, and 0 <= code < kCodes.
  void Add(std::string_view method, int code) ABSL_LOCKS_EXCLUDED(mu_);

  /// Every method that is expected, by name.
  [[nodiscard]] std::vector<Method> Read() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  std::map<std::string, Method, std::less<>> methods_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
