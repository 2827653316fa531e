// What is wrong with a configuration file on this machine, each with its place in the file, beside
// what the file alone shows to be wrong.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "service/config_file.h"

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

  /// Whether the file says `key`, or something in that section, in a way that cannot be read. What
  /// is found by its default instead would be no help.
  [[nodiscard]] bool Unread(std::string_view key) const;
  /// The same of a key of a stream, whether it says it itself or the file for all.
  [[nodiscard]] bool UnreadInStream(std::size_t stream, std::string_view key) const;

  /// OK, or INVALID_ARGUMENT with one line "FILE:LINE:COLUMN: WHAT" for each, in the order of the
  /// file, those that the file alone shows among them. What several streams share is said once.
  [[nodiscard]] absl::Status status() const;
  /// OK, or `code` with those lines, but for those that the file alone shows.
  [[nodiscard]] absl::Status added(absl::StatusCode code) const;

 private:
  void AddAt(const ConfigPlaces::Place& place, std::string what);

  const ConfigFile& file_;
  std::vector<ConfigProblem> added_;
};

}  // namespace millrace::service
