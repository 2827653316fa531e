// A video file as a clip to evaluate learners on.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "pipeline/evaluation/clip.h"

namespace millrace::service {

/// The neighbouring pictures of the file at `path`, scaled to that size, by its own clock. Opens it
/// once to see that it can be read. Fails as ingest::OpenSource() does; live sources are refused.
[[nodiscard]] absl::StatusOr<pipeline::ClipSource> VideoClip(const std::string& path, int width,
                                                             int height);

}  // namespace millrace::service
