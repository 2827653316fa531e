#include "ingest/open_source.h"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace millrace::ingest {
namespace {

struct Scheme {
  std::string_view name;  ///< Empty for a plain path.
  SourceFactory open;
  bool is_camera;
};

constexpr std::array<Scheme, 5> kSchemes = {{
    {"", OpenFile, false},
    {"file", OpenFile, false},
    {"rtsp", OpenRtspCamera, true},
    {"rtsps", OpenRtspCamera, true},
    {"test", OpenTestPicture, true},
}};

const Scheme* FindScheme(std::string_view name) {
  const auto* found = std::find_if(kSchemes.begin(), kSchemes.end(),
                                   [&](const Scheme& scheme) { return scheme.name == name; });
  return found == kSchemes.end() ? nullptr : found;
}

absl::Status UnknownScheme(const Uri& uri, std::string_view shown) {
  std::vector<std::string> known;
  for (const Scheme& scheme : kSchemes) {
    if (!scheme.name.empty()) known.push_back(absl::StrCat(std::string(scheme.name), ":"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(shown), ": unknown scheme ", uri.scheme, ":; known are ",
                   absl::StrJoin(known, ", "),
                   " and plain paths. A file whose name has a colon is ", "written ./NAME"));
}

absl::Status CheckAtLeast(std::string_view name, int value, int least, std::string_view shown) {
  if (value >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(std::string(shown), ": ", std::string(name),
                                                 " is ", value, " and must be at least ", least));
}

absl::Status CheckOptions(const SourceOptions& options, std::string_view shown) {
  MILLRACE_RETURN_IF_ERROR(CheckAtLeast("width", options.width, 1, shown));
  MILLRACE_RETURN_IF_ERROR(CheckAtLeast("height", options.height, 1, shown));
  MILLRACE_RETURN_IF_ERROR(CheckAtLeast("queue_capacity", options.queue_capacity, 1, shown));
  return CheckAtLeast("test_frames_per_second", options.test_frames_per_second, 1, shown);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> OpenSource(const SourceOptions& options) {
  IngestSettings settings;
  settings.seed = std::random_device{}();
  return OpenSource(options, settings);
}

absl::StatusOr<std::unique_ptr<Source>> OpenSource(const SourceOptions& options,
                                                   const IngestSettings& settings) {
  MILLRACE_ASSIGN_OR_RETURN(const Uri uri, ParseUri(options.uri));
  const std::string shown = WithoutCredentials(options.uri);
  const Scheme* scheme = FindScheme(uri.scheme);
  if (scheme == nullptr) return UnknownScheme(uri, shown);
  MILLRACE_RETURN_IF_ERROR(CheckOptions(options, shown));
  return scheme->open({.options = options, .settings = settings, .uri = uri, .shown = shown});
}

bool IsLive(const SourceOptions& options) {
  const absl::StatusOr<Uri> uri = ParseUri(options.uri);
  const Scheme* scheme = uri.ok() ? FindScheme(uri->scheme) : nullptr;
  return options.as_camera || (scheme != nullptr && scheme->is_camera);
}

}  // namespace millrace::ingest
