// A folder of pictures as a clip, with the true motion from a folder beside it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "pipeline/evaluation/clip.h"

namespace millrace::pipeline {

struct ImageFolderOptions {
  /// All its .png, .jpg, .jpeg, .ppm, .pgm and .bmp files, by name, are the stream. At least two.
  std::string pictures;
  /// True motion (ReadTrueFlow()) from one picture to the next, by name: one for each pair, or, as
  /// KITTI and Sintel have them, one for each picture with the same name but for the ending. Empty:
  /// nobody knows.
  std::string truth = {};
  /// As `truth`, and only beside it: pictures that are not black where what the previous one shows
  /// is hidden in the current one. Empty: nobody said.
  std::string hidden = {};
  /// The size that pictures are scaled to.
  int width = 0;
  int height = 0;
  double frames_per_second = 25;
};

/// The clip. Looks the folders through, and reads files only as the clip is read. Fails with
/// NOT_FOUND or INVALID_ARGUMENT naming the folder and what is wrong.
[[nodiscard]] absl::StatusOr<ClipSource> ImageFolder(const ImageFolderOptions& options);

}  // namespace millrace::pipeline
