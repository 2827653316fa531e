#include "service/config/config_entry.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "ingest/source/source.h"
#include "nlohmann/json.hpp"

namespace millrace::service {
namespace {

using nlohmann::json;

// Converts only scalars written exactly as JSON would write them, so that other text stays
// unchanged.
json ScalarJson(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  const bool quoted = node.Tag() == "!";
  if (!quoted && (text == "true" || text == "false")) return text == "true";
  std::int64_t whole = 0;
  if (!quoted && absl::SimpleAtoi(text, &whole) && absl::StrCat(whole) == text) {
    const bool exact = whole >= -kMaxExact && whole <= kMaxExact;
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

/// Adds the keys below `key` whose values differ.
void AddDiffering(const json& a, const json& b, const std::string& key,
                  std::vector<std::string>& keys) {
  if (a == b) return;
  if (!a.is_object() || !b.is_object()) return keys.push_back(key);
  json all = a;
  all.update(b);
  for (const auto& [name, value] : all.items()) {
    AddDiffering(a.value(name, json()), b.value(name, json()),
                 absl::StrCat(key, key.empty() ? "" : ".", name), keys);
  }
}

/// The section of a key: "model" for "model.network".
std::string_view SectionOf(std::string_view key) { return key.substr(0, key.find('.')); }

/// The text `source.uri` of an entry, or null.
json* UriOf(json& entry) {
  const json::json_pointer pointer("/source/uri");
  if (!entry.contains(pointer) || !entry.at(pointer).is_string()) return nullptr;
  return &entry.at(pointer);
}

using EtagKey = std::array<unsigned char, 32>;

/// The secret key of this process. It never leaves the process.
const EtagKey& KeyOfEtags() {
  static const EtagKey kKey = [] {
    EtagKey key;
    MILLRACE_CHECK(RAND_bytes(key.data(), static_cast<int>(key.size())) == 1);
    return key;
  }();
  return kKey;
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

std::string WithSectionsOf(const std::string& entry, const std::string& other,
                           const std::vector<std::string>& keys) {
  json object = json::parse(entry);
  const json from = json::parse(other);
  for (const std::string& key : keys) {
    const std::string section(SectionOf(key));
    object.erase(section);
    if (from.contains(section)) object[section] = from.at(section);
  }
  return Dump(object);
}

bool IsOfSource(std::string_view key) { return SectionOf(key) == "source"; }

bool IsOptimizerOption(std::string_view key) {
  return SectionOf(key) == "optimizer" && key != "optimizer" && key != "optimizer.kind";
}

bool CanChangeWhileItLearns(std::string_view key) {
  return IsOfSource(key) || IsOptimizerOption(key) || SectionOf(key) == "learning" ||
         key == "model.learning_rate";
}

std::vector<std::string> DifferingKeys(const std::string& effective, const std::string& other) {
  std::vector<std::string> keys;
  AddDiffering(json::parse(effective), json::parse(other), "", keys);
  return keys;
}

// The hash has a secret key. Clients with the etag also see the entry without its login. From an
// unkeyed hash they could find the login by trial.
std::string EtagOf(const std::string& entry) {
  constexpr std::size_t kShown = 8;  // Bytes; enough to tell entries apart.
  const EtagKey& key = KeyOfEtags();
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum;
  MILLRACE_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                      reinterpret_cast<const unsigned char*>(entry.data()), entry.size(),
                      sum.data(), nullptr) != nullptr);
  return absl::BytesToHexString({reinterpret_cast<const char*>(sum.data()), kShown});
}

}  // namespace millrace::service
