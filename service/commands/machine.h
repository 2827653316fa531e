// The machine's properties that a configuration depends on, one function each. A test can replace
// them to imitate a machine without a GPU, with a full disk, or with a port in use.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ingest/source/source.h"
#include "pipeline/preflight/try_learner.h"
#include "service/config/config.h"

namespace millrace::service {

/// A problem of the file or folder that a key of the configuration names.
struct KeyProblem {
  /// "listen.tls.key".
  std::string key;
  std::string what;
};

/// Functions that check the machine and change nothing permanently. All must be set.
struct Machine {
  /// Checks certificates and tokens.
  std::function<std::vector<KeyProblem>(const GrpcSecurity&)> security;
  /// errno of binding to the port; 0: the port is available.
  std::function<int(const std::string& address, int port)> bind;
  /// Checks whether the source yields frames. Cameras are not probed.
  std::function<absl::Status(const ingest::SourceOptions&)> source;
  std::function<absl::Status(const ingest::Login&)> password;
  std::function<absl::Status(const ingest::Tls&)> trusted;
  /// Checks whether the folder can be created and written to.
  std::function<absl::Status(const std::string& folder)> folder;
  /// Checks whether this machine has the devices.
  std::function<absl::Status(const std::vector<std::string>& names)> devices;
  /// Checks whether the stream's learner could start, except its devices and measured costs.
  std::function<std::vector<pipeline::LearnerProblem>(const StreamConfig&)> learner;
  /// The learner's need of memory in bytes; 0: none, or it depends on a camera.
  std::function<double(const StreamConfig&)> memory;
  /// Checks whether the method of scores.compare_with is available.
  std::function<absl::Status(const StreamConfig&)> reference;
};

/// This machine. Checking a source or a learner takes some tenths of a second each.
[[nodiscard]] Machine ThisMachine();

}  // namespace millrace::service
