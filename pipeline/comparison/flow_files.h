// Files of true motion: Middlebury's and Sintel's .flo, and KITTI's flow pictures.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "pipeline/evaluation/clip.h"

namespace millrace::pipeline {

/// Reads `path`, by its ending:
///
///   .flo  the float 202021.25, width and height, then (dx, dy) as floats, rows first. A vector
///         longer than a million pixels, or not finite, is unknown.
///   .png  KITTI's: 16 bits a colour, dx = (red - 32768) / 64, dy = (green - 32768) / 64, known
///         where blue is not 0.
///
/// Fails with NOT_FOUND, or with INVALID_ARGUMENT naming the file and the error.
[[nodiscard]] absl::StatusOr<TrueFlow> ReadTrueFlow(const std::string& path);

}  // namespace millrace::pipeline
