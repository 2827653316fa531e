// A configuration file as it was read, where its keys are, and what is wrong with it.
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
  /// Stands for the file in messages.
  std::string name;
  /// As far as it could be read: what is wrong has its default.
  Config config = {};
  ConfigPlaces places = {};
  /// What this file alone shows to be wrong. None: `config` is as ParseConfig() gives it.
  std::vector<ConfigProblem> problems = {};
};

/// What is wrong with `yaml` is in the result's problems. As for ParseConfig(), `name` stands for
/// the file in messages, and relative paths in it are relative to `folder`.
[[nodiscard]] ConfigFile ParseConfigFile(std::string_view yaml, std::string_view name,
                                         const std::string& folder = "");

/// Fails only where the file cannot be read, with NOT_FOUND.
[[nodiscard]] absl::StatusOr<ConfigFile> LoadConfigFile(const std::string& path);

/// As LoadConfig(), for who has read `path` before: of a regular file only, because a pipe has said
/// all that it had to say.
[[nodiscard]] absl::StatusOr<Config> LoadConfigAgain(const std::string& path);

}  // namespace millrace::service
