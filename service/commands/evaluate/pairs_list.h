// A list of picture pairs with known motion, for one evaluation of each.
//
// A line of the file names a folder of pictures and a folder of their true motion (clip_folder.h).
// The size to which pictures are scaled follows, if it differs from the usual one:
//
//   sintel/alley_1/pictures  sintel/alley_1/flow  1024x432
//
// Paths are relative to the file's folder; one with spaces is in double quotes. `#` starts a
// comment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace::service {

struct PictureSize {
  int width = 0;
  int height = 0;

  friend bool operator==(const PictureSize&, const PictureSize&) = default;
};

/// "1024x432". nullopt for another text.
[[nodiscard]] std::optional<PictureSize> PictureSizeOf(const std::string& text);

struct ListedPairs {
  /// The list's file and line, "pairs.txt:3".
  std::string place;
  /// For tables: the folder of pictures as in the list, and the size.
  std::string name;
  std::string pictures;
  std::string truth;
  PictureSize size;
};

/// Fails with NOT_FOUND or INVALID_ARGUMENT naming the file, the line and what a line has.
[[nodiscard]] absl::StatusOr<std::vector<ListedPairs>> ReadPairsList(const std::string& path,
                                                                     PictureSize usual);

}  // namespace millrace::service
