#include "service/config_entry.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "ingest/source.h"
#include "ingest/uri.h"
#include "nlohmann/json.hpp"
#include "pipeline/checksum.h"
#include "service/error_reason.h"

namespace millrace::service {
namespace {

using nlohmann::json;

// Only what is written as JSON would write it: so that the text comes back as it was.
json ScalarJson(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  const bool quoted = node.Tag() == "!";
  if (!quoted && (text == "true" || text == "false")) return text == "true";
  std::int64_t whole = 0;
  if (!quoted && absl::SimpleAtoi(text, &whole) && absl::StrCat(whole) == text) {
    const bool exact = whole >= -kMostExact && whole <= kMostExact;
    return exact ? json(whole) : json(text);
  }
  double real = 0;
  if (!quoted && absl::SimpleAtod(text, &real) && json(real).dump() == text) return real;
  return text;
}

json NodeJson(const YAML::Node& node) {
  if (node.IsScalar()) return ScalarJson(node);
  if (node.IsSequence()) {
    json list = json::array();
    for (const YAML::Node& entry : node) list.push_back(NodeJson(entry));
    return list;
  }
  if (!node.IsMap()) return nullptr;
  json object = json::object();
  for (const auto& entry : node) {
    if (entry.first.IsScalar()) object[entry.first.Scalar()] = NodeJson(entry.second);
  }
  return object;
}

constexpr auto kReplace = json::error_handler_t::replace;

std::string Dump(const json& value) { return value.dump(-1, ' ', false, kReplace); }

/// `source.uri` of an entry, or null.
json* UriOf(json& entry) {
  const json::json_pointer pointer("/source/uri");
  if (!entry.contains(pointer) || !entry.at(pointer).is_string()) return nullptr;
  return &entry.at(pointer);
}

absl::Status Forbidden(const std::string& what, const std::string& key) {
  return Because("SOURCE_NOT_ALLOWED", {{"key", key}},
                 absl::PermissionDeniedError(
                     absl::StrCat(what,
                                  " is not taken from clients; whoever runs the server can "
                                  "allow it by ",
                                  key, " in its configuration")));
}

/// The host of "//user@host:port/path", as GStreamer finds it; nothing where that could be read in
/// another way, too.
std::optional<std::string> HostOf(std::string_view rest) {
  if (rest.substr(0, 2) != "//") return std::nullopt;
  std::string_view host = rest.substr(2);
  host = host.substr(0, host.find_first_of("/?"));
  const std::size_t at = host.find('@');
  if (at != host.rfind('@') || host.find_first_of("#\\ ") != std::string_view::npos) {
    return std::nullopt;
  }
  if (at != std::string_view::npos) host = host.substr(at + 1);
  if (!host.empty() && host.front() == '[') {
    return std::string(host.substr(1, host.find(']') - 1));
  }
  return absl::AsciiStrToLower(std::string(host.substr(0, host.find(':'))));
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
  const std::optional<std::string> host = HostOf(uri.rest);
  if (!host) return Forbidden("a URI whose host is not plain", "client_sources.hosts");
  for (const std::string& pattern : rules.hosts) {
    if (fnmatch(absl::AsciiStrToLower(pattern).c_str(), host->c_str(), 0) == 0) {
      return absl::OkStatus();
    }
  }
  return Forbidden(absl::StrCat("a camera at ", *host), "client_sources.hosts");
}

// Where an entry names a file or a variable of the server.
constexpr std::array kFilePointers = {"/source/password_file", "/source/password_env",
                                      "/source/tls_ca_file", "/model/weights",
                                      "/checkpoints/folder"};

absl::Status FilesAllowed(const json& entry, const json& current) {
  const auto value_at = [](const json& object, const json::json_pointer& pointer) {
    return object.contains(pointer) ? object.at(pointer) : json();
  };
  for (const char* name : kFilePointers) {
    const json::json_pointer pointer(name);
    const json value = value_at(entry, pointer);
    if (!value.is_null() && value != value_at(current, pointer)) {
      return Forbidden(absl::StrCat(name + 1, ", which names a file or a secret of the server,"),
                       "client_sources.files");
    }
  }
  const json::json_pointer network("/model/network");
  const json value = value_at(entry, network);
  const bool is_file = value.is_string() && absl::EndsWith(value.get<std::string>(), ".pt");
  if (is_file && value != value_at(current, network)) {
    return Forbidden("a network's file", "client_sources.files");
  }
  return absl::OkStatus();
}

}  // namespace

std::string EntryJson(const YAML::Node& node) { return Dump(NodeJson(node)); }

std::string ShownEntry(const std::string& entry) {
  json object = json::parse(entry);
  if (json* const uri = UriOf(object)) *uri = ingest::WithoutCredentials(uri->get<std::string>());
  return Dump(object);
}

std::string Completed(const std::string& entry, const std::string& name,
                      const std::string& current) {
  json object = json::parse(entry, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return entry;
  if (!object.contains("name")) object["name"] = name;
  json before = json::parse(current);
  json* const known = UriOf(before);
  json* const uri = UriOf(object);
  if (known != nullptr && uri != nullptr &&
      *uri == ingest::WithoutCredentials(known->get<std::string>())) {
    *uri = *known;
  }
  return Dump(object);
}

bool SameEntry(const std::string& entry, const std::string& other) {
  return json::parse(entry) == json::parse(other);
}

bool DifferInSourceOnly(const std::string& entry, const std::string& other) {
  json a = json::parse(entry);
  json b = json::parse(other);
  a.erase("source");
  b.erase("source");
  return a == b;
}

std::string EtagOf(const std::string& entry) { return pipeline::Checksum(entry); }

absl::Status AllowedForClients(const StreamConfig& stream, const ClientSources& rules,
                               const std::string& current) {
  json entry = json::parse(stream.entry);
  json before = json::parse(current);
  const json* const uri = UriOf(entry);
  const json* const uri_before = UriOf(before);
  const bool same = uri != nullptr && uri_before != nullptr && *uri == *uri_before;
  if (!same) MILLRACE_RETURN_IF_ERROR(UriAllowed(stream.source.uri, rules));
  return rules.files ? absl::OkStatus() : FilesAllowed(entry, before);
}

}  // namespace millrace::service
