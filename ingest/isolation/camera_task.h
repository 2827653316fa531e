// The task of a camera's process: its camera and the format of its pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "ingest/source/source.h"

namespace millrace::ingest {

/// The parts of SourceOptions for an RTSP camera.
struct CameraTask {
  std::string uri = {};
  int width = 0;
  int height = 0;
  HardwareDecode hardware_decode = HardwareDecode::kAuto;
  /// Its login names the place of the password until ResolvePassword() is called.
  CameraOptions camera = {};
  std::string password = {};
  bool has_password = false;
  /// The minimum level of its log lines, as a spdlog level.
  int log_level = 0;
};

/// The maximum length of an encoded task.
inline constexpr std::size_t kMaxTaskBytes = 64 << 10;

/// Reads the password if the login names a place for it. Fails as ReadPassword().
[[nodiscard]] absl::Status ResolvePassword(CameraTask& task);

/// Encodes the task for a process of the same program on the same machine. REQUIRES:
/// ResolvePassword() was called.
[[nodiscard]] std::string Encode(const CameraTask& task);
/// INVALID_ARGUMENT if `bytes` is not the result of Encode().
[[nodiscard]] absl::StatusOr<CameraTask> DecodeTask(std::string_view bytes);

}  // namespace millrace::ingest
