// The last file of a checkpoint: lists its files, with the means to check that they are intact.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// The shape of a layer, which a checkpoint must match.
struct LayerShape {
  std::string name;
  std::vector<std::vector<std::int64_t>> parameters;
  std::vector<std::vector<std::int64_t>> buffers;

  friend bool operator==(const LayerShape&, const LayerShape&) = default;
};

/// One stage's file.
struct StageFile {
  std::string name;
  /// Counted from 0; the end is one past the last.
  int first_layer = 0;
  int end_layer = 0;
  std::uint64_t bytes = 0;
  std::string checksum;
};

struct CheckpointManifest {
  std::int64_t sample = -1;
  double score = 1;
  std::vector<LayerShape> network;
  std::vector<StageFile> stages;
  std::map<std::string, std::string> facts;
};

[[nodiscard]] std::string EncodeManifest(const CheckpointManifest& manifest);

/// Reads the result of EncodeManifest(). Fails with DATA_LOSS if it is damaged, and with
/// FAILED_PRECONDITION if it has another version. The message calls the manifest "it".
[[nodiscard]] absl::StatusOr<CheckpointManifest> DecodeManifest(std::string_view text);

/// "layer 3 is \"match 1/8\" where \"match 1/4\" is needed"; empty if both are the same.
[[nodiscard]] std::string DifferenceOf(const std::vector<LayerShape>& found,
                                       const std::vector<LayerShape>& needed);

}  // namespace millrace::pipeline
