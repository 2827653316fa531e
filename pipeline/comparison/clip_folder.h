// Reads a folder of pictures as a clip, with the true motion from a second folder.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "pipeline/evaluation/clip.h"

namespace millrace::pipeline {

struct ImageFolderOptions {
  /// The folder of the stream: all .png, .jpg, .jpeg, .ppm, .pgm and .bmp files, by name. At least
  /// two.
  std::string pictures;
  /// The folder of the true motion (ReadTrueFlow()) from one picture to the next, by name. Either
  /// one file for each pair, or, as in KITTI and Sintel, one file with the name of each picture
  /// except the ending. Empty: unknown.
  std::string truth = {};
  /// Like `truth`, and only with it: pictures that are not black where the previous picture's
  /// content is hidden in the current one. Empty: unknown.
  std::string hidden = {};
  /// The size to which pictures are scaled.
  int width = 0;
  int height = 0;
  double frames_per_second = 25;
};

/// The clip. Lists the folders at once, but reads each file only as the clip is read. Fails with
/// NOT_FOUND or INVALID_ARGUMENT naming the folder and the error.
[[nodiscard]] absl::StatusOr<ClipSource> ImageFolder(const ImageFolderOptions& options);

}  // namespace millrace::pipeline
