// A parsed configuration file: its values, the places of its keys, and its errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "service/config/config.h"
#include "service/config/config_places.h"
#include "service/config/config_problem.h"

namespace millrace::service {

struct ConfigFile {
  /// The name of the file in messages.
  std::string name;
  /// The values that could be read. A key with an error has its default.
  Config config = {};
  ConfigPlaces places = {};
  /// The errors that the file alone shows. If empty, `config` is the result of ParseConfig().
  std::vector<ConfigProblem> problems = {};
};

/// Parses `yaml` and puts its errors into the result's problems. `name` and `folder` are as for
/// ParseConfig().
[[nodiscard]] ConfigFile ParseConfigFile(std::string_view yaml, std::string_view name,
                                         const std::string& folder = "");

/// Fails only with NOT_FOUND, if the file cannot be read.
[[nodiscard]] absl::StatusOr<ConfigFile> LoadConfigFile(const std::string& path);

/// Like LoadConfig(), for a second read of `path`. It accepts only a regular file, because a pipe
/// cannot be read twice.
[[nodiscard]] absl::StatusOr<Config> LoadConfigAgain(const std::string& path);

}  // namespace millrace::service
