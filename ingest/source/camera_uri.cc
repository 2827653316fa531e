#include "ingest/source/camera_uri.h"

#include <glib.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"

namespace millrace::ingest {
namespace {

constexpr int kRtspPort = 554;
constexpr int kRtspsPort = 322;

struct Unref {
  void operator()(GUri* uri) const { g_uri_unref(uri); }
  void operator()(GError* error) const { g_error_free(error); }
};

/// The host with a possible login: from "//" to the path, the query or the fragment.
std::string_view AuthorityOf(const Uri& uri) {
  std::string_view rest = uri.rest;
  if (!rest.starts_with("//")) return {};
  rest.remove_prefix(2);
  return rest.substr(0, rest.find_first_of("/?#"));
}

/// The rest of the URI after the authority.
std::string_view BehindAuthority(const Uri& uri) {
  const std::string_view authority = AuthorityOf(uri);
  return std::string_view(uri.rest).substr(uri.rest.starts_with("//") ? 2 + authority.size() : 0);
}

absl::Status Wrong(std::string_view what) { return absl::InvalidArgumentError(std::string(what)); }

absl::Status WrongPort(const Uri& uri) {
  const int port = uri.scheme == "rtsps" ? kRtspsPort : kRtspPort;
  return Wrong(absl::StrCat("has a wrong port: a port is a number from 1 to 65535; leave ",
                            "\":PORT\" out for ", port));
}

absl::Status NoHost(const Uri& uri) {
  return Wrong(absl::StrCat("has no host: write ", uri.scheme, "://HOST/PATH"));
}

absl::Status WrongPercent() {
  return Wrong("has a % that is followed by no character's code: write % as %25");
}

absl::Status RawCharacter(char c) {
  const std::string_view code = c == '/' ? "%2F" : c == '?' ? "%3F" : "%23";
  return Wrong(absl::StrCat("has a ", std::string(1, c), " in its user or password: write ",
                            std::string(1, c), " as ", std::string(code)));
}

/// Whether `authority` is an IPv6 address without brackets, perhaps with a port.
bool LacksBrackets(std::string_view authority) {
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) authority.remove_prefix(at + 1);
  return std::ranges::count(authority, ':') > 1 &&
         std::ranges::all_of(authority, [](unsigned char c) {
           return absl::ascii_isxdigit(c) || c == ':' || c == '.';
         });
}

/// GLib takes the text between the first colon and the path as a port.
absl::Status BadPort(const Uri& uri) {
  if (LacksBrackets(AuthorityOf(uri))) {
    return Wrong(absl::StrCat("has an IPv6 address without brackets: write ", uri.scheme,
                              "://[ADDRESS]/PATH"));
  }
  const std::string_view behind = BehindAuthority(uri);
  if (behind.find('@') != std::string_view::npos) return RawCharacter(behind.front());
  return WrongPort(uri);
}

/// GLib's error in our words, because GLib's message contains the password.
absl::Status BadUri(const GError& error, const Uri& uri) {
  switch (error.code) {
    case G_URI_ERROR_BAD_PORT:
      return BadPort(uri);
    case G_URI_ERROR_BAD_HOST:
      return Wrong(absl::StrCat("has a wrong host: write a name, an address such as 192.168.1.64, ",
                                "or [fd00::64] for IPv6"));
    default:
      return WrongPercent();
  }
}

bool IsHostCharacter(unsigned char c) {
  return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
}

/// Checks an address that GLib has found in brackets.
absl::Status CheckIpv6(const std::string& address) {
  const bool of_link = absl::AsciiStrToLower(address).starts_with("fe80:");
  if (!of_link || address.find('%') != std::string::npos) return absl::OkStatus();
  return Wrong("has an address of a link only: write its interface behind it: [fe80::1%25eth0]");
}

absl::Status OddHost() {
  return Wrong(absl::StrCat("has a host with characters that no host has: write a name such as ",
                            "camera.local, an address such as 192.168.1.64, or [fd00::64]"));
}

absl::Status CheckHost(const std::string& host) {
  if (host.find(':') != std::string::npos) return CheckIpv6(host);
  if (!std::ranges::all_of(host, IsHostCharacter) || host.front() == '.' ||
      host.find("..") != std::string::npos) {
    return OddHost();
  }
  const bool is_of_numbers = host.find_first_not_of("0123456789.") == std::string::npos;
  if (!is_of_numbers || g_hostname_is_ip_address(host.c_str()) != FALSE) return absl::OkStatus();
  return Wrong(absl::StrCat("has a wrong IP address: write four numbers from 0 to 255, such as ",
                            "192.168.1.64"));
}

bool HasControlCharacters(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return absl::ascii_iscntrl(c); });
}

/// Refuses parts that GLib accepts but no camera can use.
absl::Status CheckParts(GUri& parts, const Uri& uri) {
  const gchar* const host = g_uri_get_host(&parts);
  if (host == nullptr || *host == '\0') return NoHost(uri);
  if (g_uri_get_fragment(&parts) != nullptr) return Wrong("has a #: write # as %23");
  if (g_uri_get_port(&parts) == 0) return WrongPort(uri);
  const bool has_login = g_uri_get_user(&parts) != nullptr;
  if (has_login && BehindAuthority(uri).find('@') != std::string_view::npos) {
    return Wrong(
        absl::StrCat("has an @ behind its host: write @ as %40, and / in a password as ", "%2F"));
  }
  for (const gchar* text : {g_uri_get_user(&parts), g_uri_get_password(&parts)}) {
    if (text != nullptr && HasControlCharacters(text)) {
      return Wrong("has a control character in its user or password: write none");
    }
  }
  if (BehindAuthority(uri).find("%00") != std::string_view::npos) return WrongPercent();
  // GLib ends a host or port at a semicolon and begins the path there.
  if (*g_uri_get_path(&parts) == ';') {
    return g_uri_get_port(&parts) > 0 ? WrongPort(uri) : OddHost();
  }
  return CheckHost(host);
}

/// Encodes each lone % as %25, because GStreamer refuses a URI with a lone %.
std::string WithoutLonePercent(std::string_view text) {
  std::string encoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    encoded.push_back(text[i]);
    const std::string_view code = text.substr(i + 1, 2);
    const bool lone = code.size() < 2 || !std::ranges::all_of(code, [](unsigned char c) {
                        return absl::ascii_isxdigit(c);
                      });
    if (text[i] == '%' && lone) encoded.append("25");
  }
  return encoded;
}

std::string TextOf(const gchar* text) { return text == nullptr ? "" : text; }

}  // namespace

absl::StatusOr<CameraUri> ParseCameraUri(const Uri& uri) {
  MILLRACE_CHECK(KindOf(uri) == SourceKind::kRtspCamera);
  constexpr auto kFlags =
      static_cast<GUriFlags>(G_URI_FLAGS_PARSE_RELAXED | G_URI_FLAGS_HAS_PASSWORD |
                             G_URI_FLAGS_ENCODED_PATH | G_URI_FLAGS_ENCODED_QUERY);
  GError* error = nullptr;
  const std::unique_ptr<GUri, Unref> parts(
      g_uri_parse(absl::StrCat(uri.scheme, ":", uri.rest).c_str(), kFlags, &error));
  const std::unique_ptr<GError, Unref> owned_error(error);
  if (!parts) return BadUri(*error, uri);
  if (absl::Status checked = CheckParts(*parts, uri); !checked.ok()) return checked;
  CameraUri camera{.encrypted = uri.scheme == "rtsps",
                   .host = g_uri_get_host(parts.get()),
                   .port = g_uri_get_port(parts.get()),
                   .user = TextOf(g_uri_get_user(parts.get())),
                   .password = TextOf(g_uri_get_password(parts.get())),
                   .path = TextOf(g_uri_get_path(parts.get()))};
  if (camera.port < 0) camera.port = camera.encrypted ? kRtspsPort : kRtspPort;
  camera.has_login = !camera.user.empty() || !camera.password.empty();
  if (const gchar* query = g_uri_get_query(parts.get())) absl::StrAppend(&camera.path, "?", query);
  camera.path = WithoutLonePercent(camera.path);
  return camera;
}

std::string LocationOf(const CameraUri& camera) {
  const bool bracketed = camera.host.find(':') != std::string::npos;
  const std::string host =
      absl::StrReplaceAll(camera.host, {{"%", "%25"}});  // The zone of a link-local address.
  const bool usual = !camera.encrypted && camera.port == kRtspPort;
  return absl::StrCat(camera.encrypted ? "rtsps" : "rtsp", "://", bracketed ? "[" : "", host,
                      bracketed ? "]" : "", usual ? "" : absl::StrCat(":", camera.port),
                      camera.path);
}

}  // namespace millrace::ingest
