// Checkpoints that the test writes, as a learner would have.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "pipeline/checkpoint/checkpoint_folders.h"
#include "pipeline/checkpoint/checksum.h"

namespace millrace::service {

/// A checkpoint after `sample` in `folder`, with a file for each of the stages. Returns its name.
inline std::string WriteCheckpoint(const std::filesystem::path& folder, std::int64_t sample,
                                   double score = 0.5, int stages = 2) {
  const std::string name = pipeline::CheckpointName(sample);
  const std::filesystem::path path = folder / name;
  std::filesystem::create_directories(path);
  pipeline::CheckpointManifest manifest;
  manifest.sample = sample;
  manifest.score = score;
  for (int i = 1; i <= stages; ++i) {
    const std::string stage = absl::StrCat("stage-", i, ".safetensors");
    const std::string bytes(1'500'000, stage[6]);
    EXPECT_TRUE(WriteFileAtomically((path / stage).string(), bytes).ok());
    manifest.stages.push_back(
        {.name = stage, .bytes = bytes.size(), .checksum = pipeline::Checksum(bytes)});
  }
  EXPECT_TRUE(WriteFileAtomically((path / pipeline::kManifestFile).string(),
                                  pipeline::EncodeManifest(manifest))
                  .ok());
  return name;
}

}  // namespace millrace::service
