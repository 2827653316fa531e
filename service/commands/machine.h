// What a configuration needs of this machine, a function for each: so that a test can stand in for
// a machine without a GPU, with a full disk, or with a port in use.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ingest/source/source.h"
#include "pipeline/preflight/try_learner.h"
#include "service/config/config.h"

namespace millrace::service {

/// What is wrong with the file or the folder that one key of the configuration names.
struct KeyProblem {
  /// "listen.tls.key".
  std::string key;
  std::string what;
};

/// Functions that look and change nothing that stays. None may be empty.
struct Machine {
  /// Certificates and tokens.
  std::function<std::vector<KeyProblem>(const GrpcSecurity&)> security;
  /// errno of binding to the port, 0: it can be had.
  std::function<int(const std::string& address, int port)> bind;
  /// Whether frames come of it. No camera is looked at.
  std::function<absl::Status(const ingest::SourceOptions&)> source;
  std::function<absl::Status(const ingest::Login&)> password;
  std::function<absl::Status(const ingest::Tls&)> trusted;
  /// Whether the folder can be made, if it is missing, and written to.
  std::function<absl::Status(const std::string& folder)> folder;
  /// Whether this machine has these devices.
  std::function<absl::Status(const std::vector<std::string>& names)> devices;
  /// Whether the stream's learner could start, but for its devices and what takes measuring.
  std::function<std::vector<pipeline::LearnerProblem>(const StreamConfig&)> learner;
  /// Bytes of memory that its learner takes; 0: none, or that depends on a camera.
  std::function<double(const StreamConfig&)> memory;
  /// Whether the method of scores.compare_with can be had.
  std::function<absl::Status(const StreamConfig&)> reference;
};

/// This machine. A source and a learner each take some tenths of a second.
[[nodiscard]] Machine ThisMachine();

}  // namespace millrace::service
