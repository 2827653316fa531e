// `millrace init`: writes the configuration of one camera, after a look at it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "service/commands/cmd_serve.h"

namespace millrace::service {

struct InitArguments {
  std::string uri;
  std::string output = kUsualConfig;
  std::string name = "camera";
  /// Replaces a file that is there.
  bool force = false;
  /// Writes the file without a look at the camera.
  bool offline = false;
};

/// The configuration, five lines.
[[nodiscard]] std::string ConfigOf(const InitArguments& arguments);

/// Writes `text` to a file that only its owner can read, or, where it holds no secret, as other
/// files. ALREADY_EXISTS where there is one, unless `replace`.
[[nodiscard]] absl::Status WriteConfig(const std::string& path, const std::string& text,
                                       bool secret, bool replace);

/// Runs the command and returns the program's exit code. A camera that cannot be seen is a failure,
/// and nothing is written.
[[nodiscard]] int RunInit(const InitArguments& arguments);

}  // namespace millrace::service
