// Computes the wait before the next try to reach a lost camera.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace millrace::ingest {

/// In a server `first` and `longest` are those of CameraOptions (source.h).
struct BackoffOptions {
  std::chrono::nanoseconds first = std::chrono::milliseconds(200);
  /// A longer wait would only make outages longer after a camera has booted.
  std::chrono::nanoseconds longest = std::chrono::seconds(2);
  /// The random share of each wait, so that a hundred cameras lost together do not reconnect at the
  /// same moment.
  double jitter = 0.2;
};

/// Waits that double up to a limit, each with jitter. Equal seeds give equal waits.
/// Not thread-safe.
class Backoff {
 public:
  /// REQUIRES: 0 < first <= longest and 0 <= jitter < 1.
  Backoff(const BackoffOptions& options, std::uint64_t seed);

  /// The wait before the next try.
  [[nodiscard]] std::chrono::nanoseconds Next();

  /// Starts again from the shortest wait.
  void Reset() { wait_ = options_.first; }

 private:
  // Constant after construction.
  const BackoffOptions options_;

  std::mt19937_64 random_;
  std::chrono::nanoseconds wait_;
};

}  // namespace millrace::ingest
