// `millrace init`: probes a camera and writes a configuration for it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "service/commands/serve_command.h"
#include "service/terminal/cli_app.h"

namespace millrace::service {

struct InitArguments {
  std::string uri;
  std::string output = kUsualConfig;
  std::string name = "camera";
  /// Replaces an existing file.
  bool force = false;
  /// Writes the file without probing the camera.
  bool offline = false;
};

/// The configuration, five lines.
[[nodiscard]] std::string ConfigOf(const InitArguments& arguments);

/// Writes `text` to a file. The file is readable only by its owner if it contains a secret. Fails
/// with ALREADY_EXISTS if the file exists, unless `replace`.
[[nodiscard]] absl::Status WriteConfig(const std::string& path, const std::string& text,
                                       bool secret, bool replace);

/// Adds the command to `app`. Parsing writes to `arguments`.
void AddInit(CLI::App& app, InitArguments& arguments);

/// Runs the command and returns the program's exit code. If the camera shows no picture, it fails
/// and writes no file.
[[nodiscard]] int RunInit(const InitArguments& arguments);

}  // namespace millrace::service
