// What a camera's process is told to do: which camera to show, and as which pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "ingest/source/source.h"

namespace millrace::ingest {

/// As SourceOptions has it, for an RTSP camera.
struct CameraTask {
  std::string uri = {};
  int width = 0;
  int height = 0;
  HardwareDecode hardware_decode = HardwareDecode::kAuto;
  /// Its login says where the password is until ResolvePassword() has looked.
  CameraOptions camera = {};
  std::string password = {};
  bool has_password = false;
  /// The least level of its log's lines, as spdlog numbers them.
  int log_level = 0;
};

/// An encoded one is no longer.
inline constexpr std::size_t kMostTaskBytes = 64 << 10;

/// Reads the password, where the login says so. Fails as ReadPassword() does.
[[nodiscard]] absl::Status ResolvePassword(CameraTask& task);

/// For the process, which is of this program, on this machine. REQUIRES: its password is resolved.
[[nodiscard]] std::string Encode(const CameraTask& task);
/// INVALID_ARGUMENT where `bytes` are not what Encode() makes.
[[nodiscard]] absl::StatusOr<CameraTask> DecodeTask(std::string_view bytes);

}  // namespace millrace::ingest
