// WithoutCredentials() rather hides too much: error messages from other libraries may contain URIs
// that no parser accepts.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "ingest/source/source.h"

namespace millrace::ingest {
namespace {

constexpr std::string_view kHidden = "***";

/// Names of parameters in which cameras accept credentials: `/user=admin&password=x`.
constexpr std::array<std::string_view, 16> kSecretParameters = {
    "user", "username", "usr",   "loginuse", "password", "passwd", "pass",       "pwd",
    "psw",  "loginpas", "token", "secret",   "key",      "apikey", "passphrase", "auth"};

bool IsAlphanumeric(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); }

bool EndsParameter(char c) {
  return c == '&' || c == ';' || c == '/' || c == '?' || c == '#' ||
         absl::ascii_isspace(static_cast<unsigned char>(c));
}

/// The start of the part of `text` that may contain a user and password; npos if there is no such
/// part.
std::size_t AuthorityStart(std::string_view text) {
  const std::string lower = absl::AsciiStrToLower(std::string(text.substr(0, 5)));
  if (lower == "file:") return std::string_view::npos;
  const std::size_t slashes = text.find("://");
  if (slashes != std::string_view::npos) return slashes + 3;
  const std::size_t colon = text.find(':');  // `rtsp:user:password@camera`, without its slashes.
  return colon == std::string_view::npos ? colon : colon + 1;
}

/// Hides everything from the first authority to the last `@`. An unencoded password may contain any
/// character, so any text before that `@` may belong to it.
std::string WithoutUserInfo(std::string_view text) {
  const std::size_t start = AuthorityStart(text);
  const std::size_t at = text.rfind('@');
  if (start == std::string_view::npos || at == std::string_view::npos || at < start) {
    return std::string(text);
  }
  return std::string(text.substr(0, start)).append(kHidden).append(text.substr(at));
}

/// Hides the authority of `rtsp://admin:secret`, a URI without a host: text that is no port may be
/// a password.
std::string WithoutLoneLogin(std::string_view text) {
  const std::size_t slashes = text.find("://");
  if (slashes == std::string_view::npos) return std::string(text);
  const std::size_t start = slashes + 3;
  const std::size_t end = std::min(text.find_first_of("/?# ", start), text.size());
  std::string_view authority = text.substr(start, end - start);
  if (authority.ends_with(':')) authority.remove_suffix(1);  // Part of the message.
  const std::size_t colon = authority.find(':');
  if (colon == std::string_view::npos || authority.starts_with('[') ||
      authority.find_first_not_of("0123456789", colon + 1) == std::string_view::npos ||
      authority.find('@') != std::string_view::npos) {
    return std::string(text);
  }
  return std::string(text.substr(0, start))
      .append(kHidden)
      .append(text.substr(start + authority.size()));
}

/// Whether the name at the end of `before` (right before a `=`) is a secret's name.
bool NamesSecret(std::string_view before) {
  std::size_t start = before.size();
  while (start > 0 && IsAlphanumeric(before[start - 1])) --start;
  const std::string name = absl::AsciiStrToLower(std::string(before.substr(start)));
  return std::find(kSecretParameters.begin(), kSecretParameters.end(), name) !=
         kSecretParameters.end();
}

std::string WithoutSecretParameters(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) break;
    shown.append(text.substr(0, equals + 1));
    const bool secret = NamesSecret(text.substr(0, equals));
    text.remove_prefix(equals + 1);
    if (!secret) continue;
    const auto end = std::find_if(text.begin(), text.end(), EndsParameter);
    shown.append(kHidden);
    text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
  }
  return shown.append(text);
}

}  // namespace

std::string WithoutCredentials(std::string_view uri) {
  std::string shown = WithoutSecretParameters(WithoutLoneLogin(WithoutUserInfo(uri)));
  std::replace_if(
      shown.begin(), shown.end(),
      [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); }, '?');
  return shown;
}

}  // namespace millrace::ingest
