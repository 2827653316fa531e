// What is wrong with a configuration file on this machine, each with its place in the file.
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

  /// OK, or `code` with one line "FILE:LINE:COLUMN: KEY: WHAT" for each, in the order of the file.
  /// What several streams share is said once.
  [[nodiscard]] absl::Status status(
      absl::StatusCode code = absl::StatusCode::kInvalidArgument) const;

 private:
  struct Problem {
    ConfigPlaces::Place place;
    std::string what;
  };

  const ConfigFile& file_;
  std::vector<Problem> problems_;
};

}  // namespace millrace::service
