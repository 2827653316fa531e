// The images of a folder, in the order in which people count: frame2.png before frame10.png.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace::ingest {

/// Whether `path` names images rather than one video: a folder, or a pattern (*, ?, [...]) in its
/// last part where there is no file of that very name.
[[nodiscard]] bool NamesImages(const std::string& path);

/// The paths of the JPEG and PNG files, by their endings, of a folder or pattern, in natural order.
/// NOT_FOUND if there is no such folder, PERMISSION_DENIED if it cannot be read, and
/// FAILED_PRECONDITION if it has none; the message says what was looked for.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> ListImages(const std::string& path);

/// The bytes of an image's file. Fails as RegularFile does, or if there are more than 32 MiB, which
/// is what clients may push; the message says what is wrong with "it".
[[nodiscard]] absl::StatusOr<std::string> ReadImage(const std::string& path);

/// Whether `a` comes before `b`: by characters, but runs of digits by the numbers that they write.
/// Equal numbers: the one with fewer zeros in front.
[[nodiscard]] bool NaturallyLess(std::string_view a, std::string_view b);

}  // namespace millrace::ingest
