#include "service/registry/client_sources.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error_reason.h"
#include "base/status.h"
#include "ingest/source/camera_uri.h"
#include "ingest/source/source.h"
#include "ingest/source/uri.h"
#include "nlohmann/json.hpp"
#include "service/access/host_pattern.h"
#include "service/config/warm_start.h"

namespace millrace::service {
namespace {

using nlohmann::json;

absl::Status Forbidden(const std::string& what, const std::string& key) {
  return WithReason(
      "SOURCE_NOT_ALLOWED", {{"key", key}},
      absl::PermissionDeniedError(absl::StrCat(what,
                                               " is not taken from clients; the server's owner can "
                                               "allow it by ",
                                               key, " in its configuration")));
}

/// The destination of a URI.
struct Place {
  std::string scheme;
  std::string host;
  int port = 0;

  friend bool operator==(const Place&, const Place&) = default;
};

/// The destination of a camera's URI. Nullopt for any other URI.
std::optional<Place> PlaceOf(const ingest::Uri& uri) {
  if (ingest::KindOf(uri) != ingest::SourceKind::kRtspCamera) return std::nullopt;
  const absl::StatusOr<ingest::CameraUri> camera = ingest::ParseCameraUri(uri);
  if (!camera.ok()) return std::nullopt;
  return Place{
      .scheme = uri.scheme, .host = absl::AsciiStrToLower(camera->host), .port = camera->port};
}

absl::Status UriAllowed(const std::string& text, const ClientSources& rules) {
  MILLRACE_ASSIGN_OR_RETURN(const ingest::Uri uri, ingest::ParseUri(text));
  const bool is_path = uri.scheme.empty();
  const std::string scheme = is_path ? "file" : uri.scheme;
  if (std::find(rules.schemes.begin(), rules.schemes.end(), scheme) == rules.schemes.end()) {
    return Forbidden(is_path ? "a file" : absl::StrCat("a URI with ", scheme, ":"),
                     "client_sources.schemes");
  }
  if (ingest::KindOf(uri) != ingest::SourceKind::kRtspCamera) return absl::OkStatus();
  const std::optional<Place> place = PlaceOf(uri);
  if (!place) return Forbidden("a URI whose host is not plain", "client_sources.hosts");
  for (const std::string& pattern : rules.hosts) {
    if (HostMatches(place->host, pattern)) return absl::OkStatus();
  }
  return Forbidden(absl::StrCat("a camera at ", place->host), "client_sources.hosts");
}

/// The value of `entry` at `pointer`, or null.
json ValueAt(const json& entry, const char* pointer) {
  const json::json_pointer at(pointer);
  return entry.contains(at) ? entry.at(at) : json();
}

std::string UriOf(const json& entry) {
  const json uri = ValueAt(entry, "/source/uri");
  return uri.is_string() ? uri.get<std::string>() : "";
}

bool SameAt(const char* pointer, const json& entry, const json& current) {
  return ValueAt(entry, pointer) == ValueAt(current, pointer);
}

// The keys of an entry that name a file or an environment variable of the server.
constexpr std::array kFilePointers = {"/source/password_file", "/source/password_env",
                                      "/source/tls_ca_file", "/model/weights",
                                      "/checkpoints/folder"};

absl::Status FilesAllowed(const json& entry, const json& current) {
  for (const char* pointer : kFilePointers) {
    const json value = ValueAt(entry, pointer);
    const bool no_weights = std::string_view(pointer) == "/model/weights" && value == kNoWeights;
    if (!value.is_null() && !no_weights && !SameAt(pointer, entry, current)) {
      return Forbidden(absl::StrCat(pointer + 1, ", which names a file or a secret of the server,"),
                       "client_sources.files");
    }
  }
  const json network = ValueAt(entry, "/model/network");
  const bool is_file = network.is_string() && absl::EndsWith(network.get<std::string>(), ".pt");
  if (is_file && !SameAt("/model/network", entry, current)) {
    return Forbidden("a network's file", "client_sources.files");
  }
  return absl::OkStatus();
}

/// Whether the source uses a password that the client may not know. It comes from a file, from a
/// variable, or from the URI of the current entry.
bool KeepsPassword(const json& entry, const json& current) {
  const std::string uri = UriOf(entry);
  const bool in_uri = uri == UriOf(current) && uri != ingest::WithoutCredentials(uri);
  return in_uri || !ValueAt(entry, "/source/password_file").is_null() ||
         !ValueAt(entry, "/source/password_env").is_null();
}

bool GoesToTheSamePlace(const json& entry, const json& current) {
  const auto place_of = [](const json& of) {
    const absl::StatusOr<ingest::Uri> uri = ingest::ParseUri(UriOf(of));
    return uri.ok() ? PlaceOf(*uri) : std::nullopt;
  };
  const std::optional<Place> before = place_of(current);
  return before.has_value() && place_of(entry) == before;
}

absl::Status PasswordMayStay(const StreamConfig& stream, const json& entry, const json& current) {
  const bool same_uri = UriOf(entry) == UriOf(current);
  const bool same_place = same_uri || GoesToTheSamePlace(entry, current);
  const bool as_safe = SameAt("/source/tls_ca_file", entry, current) &&
                       (stream.source.camera.tls.verify ||  // The parsed value of any notation.
                        SameAt("/source/tls_verify", entry, current));
  if (!KeepsPassword(entry, current) || (same_place && as_safe)) return absl::OkStatus();
  return Forbidden(
      "a change that sends the camera's password to another host or port, or with less TLS,",
      "client_sources.files");
}

}  // namespace

absl::Status AllowedForClients(const StreamConfig& stream, const ClientSources& rules,
                               const std::string& current) {
  const json entry = json::parse(stream.entry);
  const json before = json::parse(current);
  const std::string uri = UriOf(entry);
  if (uri.empty() || uri != UriOf(before)) {
    MILLRACE_RETURN_IF_ERROR(UriAllowed(stream.source.uri, rules));
  }
  if (rules.files) return absl::OkStatus();
  MILLRACE_RETURN_IF_ERROR(FilesAllowed(entry, before));
  return PasswordMayStay(stream, entry, before);
}

}  // namespace millrace::service
