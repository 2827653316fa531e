// A video file as a clip for evaluations.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "pipeline/evaluation/clip.h"

namespace millrace::service {

/// Pairs of neighbouring pictures of the file at `path`, scaled to the given size, with the file's
/// own timestamps. Opens the file once to check that it is readable. Fails as ingest::OpenSource()
/// does, and for live sources.
[[nodiscard]] absl::StatusOr<pipeline::ClipSource> VideoClip(const std::string& path, int width,
                                                             int height);

}  // namespace millrace::service
