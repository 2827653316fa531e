// Collects the errors of a configuration file that depend on this machine, each with its place in
// the file. The errors that the file alone shows come from ConfigFile.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "service/config/config_file.h"

namespace millrace::service {

/// Borrows the file, which must outlive it. Not thread-safe.
class ConfigProblems {
 public:
  explicit ConfigProblems(const ConfigFile& file) : file_(file) {}

  /// Adds a problem at `key`, such as "listen.address". If the file lacks the key, the place is its
  /// section, or else the beginning of the file.
  void Add(std::string_view key, std::string_view what);
  /// Adds a problem at `key`, such as "model.weights", of stream number `stream`. The place is the
  /// key in the stream, else the key for all streams, else the stream.
  void AddToStream(std::size_t stream, std::string_view key, std::string_view what);

  /// Paths of keys, such as "model.network".
  using Keys = std::span<const std::string_view>;

  /// Whether `key`, a key below it or its section has a syntax or value error; keys in `besides` do
  /// not count. Then the configuration has a default there, and checking that default on this
  /// machine would mislead.
  [[nodiscard]] bool Unread(std::string_view key, Keys besides = {}) const;
  /// Like Unread(), for a key that the stream sets or that the file sets for all streams.
  [[nodiscard]] bool UnreadInStream(std::size_t stream, std::string_view key,
                                    Keys besides = {}) const;

  /// OK, or INVALID_ARGUMENT with one line "FILE:LINE:COLUMN: WHAT" for each problem, in the order
  /// of the file. It covers the problems of the machine and of the file alone. A problem shared by
  /// several streams has one line.
  [[nodiscard]] absl::Status status() const;
  /// OK, or `code` with the lines of the added problems only.
  [[nodiscard]] absl::Status added(absl::StatusCode code) const;

 private:
  void AddAt(const ConfigPlaces::Place& place, std::string what);

  const ConfigFile& file_;
  std::vector<ConfigProblem> added_;
};

}  // namespace millrace::service
