// All camera streams of the server, by name, as they come and go.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "service/registry/served_stream.h"

namespace millrace::service {

/// The registry: knows which streams there are, and neither starts nor ends them, but for Stop().
/// Thread-safe. Who was given a stream keeps it as long as wanted.
class Streams {
 public:
  Streams() = default;
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  /// In the order in which they were added.
  [[nodiscard]] std::vector<SharedStream> All() const ABSL_LOCKS_EXCLUDED(mu_);
  /// Fails with NOT_FOUND naming the streams there are. An empty name means the only stream, if
  /// there is just one.
  [[nodiscard]] absl::StatusOr<SharedStream> Find(std::string_view name) const
      ABSL_LOCKS_EXCLUDED(mu_);

  /// What Add() fails with.
  [[nodiscard]] static absl::Status AlreadyExists(const std::string& name);
  /// Fails with ALREADY_EXISTS if there is a stream of that name, and with CANCELLED once stopped.
  absl::Status Add(SharedStream stream) ABSL_LOCKS_EXCLUDED(mu_);
  /// `stream` takes the place of the one of its name. Fails with CANCELLED once stopped. REQUIRES:
  /// there is one.
  absl::Status Replace(SharedStream stream) ABSL_LOCKS_EXCLUDED(mu_);
  /// REQUIRES: `stream` was added.
  void Remove(const SharedStream& stream) ABSL_LOCKS_EXCLUDED(mu_);

  /// Stops all of them, at the same time as far as the system has threads, and takes no more. They
  /// stay, to be looked at. Idempotent.
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  std::vector<SharedStream> streams_ ABSL_GUARDED_BY(mu_);
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millrace::service
