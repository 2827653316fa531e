// What is wrong with a configuration file on this machine, each with its place in the file, beside
// what the file alone shows to be wrong.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "service/config/config_file.h"

namespace millrace::service {

/// Borrows the file. Not thread-safe.
class ConfigProblems {
 public:
  explicit ConfigProblems(const ConfigFile& file) : file_(file) {}

  /// At `key` of the file, as "listen.address", or where its section is, or at the beginning.
  void Add(std::string_view key, std::string_view what);
  /// At `key` of stream number `stream`, as "model.weights": where the stream says it, or the file
  /// for all streams, or else where the stream is.
  void AddToStream(std::size_t stream, std::string_view key, std::string_view what);

  /// Paths of keys, as "model.network".
  using Keys = std::span<const std::string_view>;

  /// Whether the file says `key`, or something in that section, in a way that cannot be read:
  /// other keys than `besides`. The configuration has a default there, and a look at the machine
  /// would judge that.
  [[nodiscard]] bool Unread(std::string_view key, Keys besides = {}) const;
  /// The same of a key of a stream, whether the stream says it or the file for all.
  [[nodiscard]] bool UnreadInStream(std::size_t stream, std::string_view key,
                                    Keys besides = {}) const;

  /// OK, or INVALID_ARGUMENT with one line "FILE:LINE:COLUMN: WHAT" for each problem, in the order
  /// of the file: of the machine and of the file alone. One that several streams share has one
  /// line.
  [[nodiscard]] absl::Status status() const;
  /// OK, or `code` with the lines of the problems that were added.
  [[nodiscard]] absl::Status added(absl::StatusCode code) const;

 private:
  void AddAt(const ConfigPlaces::Place& place, std::string what);

  const ConfigFile& file_;
  std::vector<ConfigProblem> added_;
};

}  // namespace millrace::service
