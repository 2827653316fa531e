// The registry of all camera streams, by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "service/registry/served_stream.h"

namespace millrace::service {

/// Knows the streams, but starts none, and stops them only in Stop(). Thread-safe. A caller may
/// keep a returned stream for any time.
class StreamRegistry {
 public:
  StreamRegistry() = default;
  StreamRegistry(const StreamRegistry&) = delete;
  StreamRegistry& operator=(const StreamRegistry&) = delete;

  /// All streams in the order of their addition.
  [[nodiscard]] std::vector<SharedStream> All() const ABSL_LOCKS_EXCLUDED(mu_);
  /// The stream `name`. An empty name means the only stream. NOT_FOUND, listing the existing
  /// streams, if there is no such stream.
  [[nodiscard]] absl::StatusOr<SharedStream> Find(std::string_view name) const
      ABSL_LOCKS_EXCLUDED(mu_);

  /// The error of Add() for an existing name.
  [[nodiscard]] static absl::Status AlreadyExists(const std::string& name);
  /// Adds `stream`. ALREADY_EXISTS if its name is taken, CANCELLED after Stop().
  absl::Status Add(SharedStream stream) ABSL_LOCKS_EXCLUDED(mu_);
  /// Replaces the stream of the same name by `stream`. CANCELLED after Stop(). REQUIRES: that
  /// stream exists.
  absl::Status Replace(SharedStream stream) ABSL_LOCKS_EXCLUDED(mu_);
  /// REQUIRES: `stream` was added.
  void Remove(const SharedStream& stream) ABSL_LOCKS_EXCLUDED(mu_);

  /// Stops all streams, in parallel if the system has enough threads, and accepts no more. The
  /// stopped streams stay readable. Idempotent.
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  std::vector<SharedStream> streams_ ABSL_GUARDED_BY(mu_);
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace millrace::service
