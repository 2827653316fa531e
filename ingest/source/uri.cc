#include "ingest/source/uri.h"

#include <glib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "ingest/source/source.h"

namespace millrace::ingest {
namespace {

/// A text of GLib's; null if GLib refused the input.
using GText = std::unique_ptr<gchar, void (*)(gpointer)>;

absl::StatusOr<std::string> PercentDecoded(const std::string& text) {
  const GText decoded(g_uri_unescape_string(text.c_str(), /*illegal_characters=*/nullptr), &g_free);
  if (decoded) return std::string(decoded.get());
  return absl::InvalidArgumentError(
      absl::StrCat("file:", text,
                   ": % must be followed by two hexadecimal digits, and not 00; a % in a file's "
                   "name is written %25"));
}

}  // namespace

std::optional<SourceKind> KindOf(const Uri& uri) {
  static constexpr std::array<std::pair<std::string_view, SourceKind>, 7> kSchemes = {{
      {"", SourceKind::kFile},
      {"file", SourceKind::kFile},
      {"rtsp", SourceKind::kRtspCamera},
      {"rtsps", SourceKind::kRtspCamera},
      {"v4l2", SourceKind::kV4l2Camera},
      {"push", SourceKind::kPush},
      {"test", SourceKind::kTestPicture},
  }};
  for (const auto& [scheme, kind] : kSchemes) {
    if (uri.scheme == scheme) return kind;
  }
  return std::nullopt;
}

absl::StatusOr<Uri> ParseUri(std::string_view text) {
  if (text.empty()) {
    return absl::InvalidArgumentError(
        "the source's URI is empty: give a file's path or rtsp://...");
  }
  const bool has_control_character = std::any_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c));
  });
  if (has_control_character) {
    return absl::InvalidArgumentError(absl::StrCat(
        WithoutCredentials(text), ": a URI must not contain line breaks or control characters"));
  }
  const GText scheme(g_uri_parse_scheme(std::string(text).c_str()), &g_free);
  if (!scheme) return Uri{.scheme = "", .rest = std::string(text)};
  const std::string_view name = scheme.get();
  return Uri{.scheme = absl::AsciiStrToLower(std::string(name)),
             .rest = std::string(text.substr(name.size() + 1))};
}

absl::StatusOr<std::string> FilePath(const Uri& uri) {
  MILLRACE_CHECK(KindOf(uri) == SourceKind::kFile);
  if (uri.scheme.empty()) return uri.rest;
  std::string_view path = uri.rest;
  if (path.starts_with("//")) {
    path.remove_prefix(2);
    const std::size_t root = std::min(path.find('/'), path.size());
    const std::string_view host = path.substr(0, root);
    if (!host.empty() && host != "localhost") {
      return absl::InvalidArgumentError(
          absl::StrCat("file:", uri.rest, ": names the host ", std::string(host),
                       ", but only this machine's files can be read: write file:///PATH"));
    }
    path.remove_prefix(root);
  }
  if (path.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("file:", uri.rest, ": names no file: write file:PATH"));
  }
  return PercentDecoded(std::string(path));
}

absl::StatusOr<std::string> DevicePath(const Uri& uri) {
  MILLRACE_CHECK(KindOf(uri) == SourceKind::kV4l2Camera);
  if (uri.rest.starts_with('/')) return uri.rest;
  return absl::InvalidArgumentError(
      absl::StrCat("v4l2:", uri.rest, ": names no device: write v4l2:/dev/video0"));
}

}  // namespace millrace::ingest
