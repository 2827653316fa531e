// A configuration file as it was read, and where its keys are.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "service/config.h"
#include "service/config_places.h"

namespace millrace::service {

struct ConfigFile {
  /// Stands for the file in messages.
  std::string name;
  Config config;
  ConfigPlaces places;
};

/// As ParseConfig().
[[nodiscard]] absl::StatusOr<ConfigFile> ParseConfigFile(std::string_view yaml,
                                                         std::string_view name,
                                                         const std::string& folder = "");

/// As LoadConfig().
[[nodiscard]] absl::StatusOr<ConfigFile> LoadConfigFile(const std::string& path);

}  // namespace millrace::service
