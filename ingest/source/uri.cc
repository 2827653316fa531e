#include "ingest/source/uri.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "ingest/source/source.h"

namespace millrace::ingest {
namespace {

bool IsSchemeCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '-' || c == '.';
}

/// The length of the scheme at the start of `text`, without its colon; 0 for a plain path.
std::size_t SchemeLength(std::string_view text) {
  if (text.empty() || !absl::ascii_isalpha(static_cast<unsigned char>(text.front()))) return 0;
  const auto end = std::find_if_not(text.begin(), text.end(), IsSchemeCharacter);
  return end != text.end() && *end == ':' ? static_cast<std::size_t>(end - text.begin()) : 0;
}

/// The value of a hexadecimal digit, or -1.
int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

absl::StatusOr<std::string> PercentDecoded(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i]);
      continue;
    }
    const int high = i + 1 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0 || (high == 0 && low == 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "file:", std::string(text),
          ": % must be followed by two hexadecimal digits, and not 00; a % in a file's "
          "name is written %25"));
    }
    decoded.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return decoded;
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
  const std::size_t length = SchemeLength(text);
  if (length == 0) return Uri{.scheme = "", .rest = std::string(text)};
  return Uri{.scheme = absl::AsciiStrToLower(std::string(text.substr(0, length))),
             .rest = std::string(text.substr(length + 1))};
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
  return PercentDecoded(path);
}

}  // namespace millrace::ingest
