// The images of a folder in natural order: frame2.png before frame10.png.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace::ingest {

/// Whether `path` names images, not one video. True for a folder, and for a pattern (*, ?, [...])
/// in the last part unless a file has exactly this name.
[[nodiscard]] bool NamesImages(const std::string& path);

/// The paths of the JPEG and PNG files of a folder or pattern, by their endings, in natural order.
/// NOT_FOUND if the folder does not exist, PERMISSION_DENIED if it cannot be read,
/// FAILED_PRECONDITION if it has no image. The message names the folder or pattern.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> ListImages(const std::string& path);

/// The bytes of an image file. Fails as RegularFile does, or if the file exceeds 32 MiB, the limit
/// for pushed images too. The message calls the file "it".
[[nodiscard]] absl::StatusOr<std::string> ReadImage(const std::string& path);

/// Natural order: compares characters, but runs of digits by their number. Of two equal numbers,
/// the one with fewer leading zeros comes first.
[[nodiscard]] bool NaturallyLess(std::string_view a, std::string_view b);

}  // namespace millrace::ingest
