#include "service/config/config_print.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "ingest/source/source.h"
#include "service/config/config_choices.h"
#include "service/config/config_describer.h"
#include "service/config/config_entry.h"
#include "service/config/config_keys.h"

namespace millrace::service {
namespace {

using Json = ConfigJson;

/// The effective settings outside `streams`.
Json FileValues(Config config) {
  return ValuesOf(FileKeys(), {.config = &config, .stream = &config.defaults});
}

/// `value` without null values and empty objects.
Json Said(const Json& value) {
  if (value.is_array()) {
    Json list = Json::array();
    for (const Json& entry : value) list.push_back(Said(entry));
    return list;
  }
  if (!value.is_object()) return value;
  Json object = Json::object();
  for (const auto& [key, entry] : value.items()) {
    Json said = Said(entry);
    if (!said.is_null() && !(said.is_object() && said.empty())) object[key] = std::move(said);
  }
  return object;
}

/// The keys of `file` that have errors, as JSON pointers.
std::vector<std::string> WrongKeys(const Json& file) {
  ConfigErrors errors;
  Config ignored;
  ReadConfig(ConfigValue("the file", YAML::Load(Dump(Said(file))), errors), ignored);
  std::vector<std::string> keys;
  for (const FieldViolation& wrong : errors.violations()) {
    keys.push_back("/" + absl::StrReplaceAll(wrong.field, {{".", "/"}, {"[", "/"}, {"]", ""}}));
  }
  return keys;
}

bool Erase(Json& file, const std::string& key) {
  const Json::json_pointer pointer(key);
  if (!file.contains(pointer)) return false;
  file.at(pointer.parent_pointer()).erase(pointer.back());
  return true;
}

// The parser knows which keys apply to which kinds of streams. The loop repeats until the parser
// accepts the rest, because one error may hide another.
void EraseWhatIsForOthers(Json& file) {
  bool erased = true;
  while (erased) {
    erased = false;
    for (const std::string& key : WrongKeys(file)) erased = Erase(file, key) || erased;
  }
}

/// Whether every YAML parser reads `text` as the same text without quotes.
bool IsPlain(const std::string& text) {
  static constexpr std::array<std::string_view, 9> kOther = {"true", "false", "null", "on", "off",
                                                             "yes",  "no",    "y",    "n"};
  const auto allowed = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '/' || c == '.' || c == '-';
  };
  const bool number =
      Json::accept(text) || absl::ascii_isdigit(text.front()) || text[0] == '-' || text[0] == '.';
  const bool path = text.find('/') != std::string::npos && text[0] != '-';
  return std::all_of(text.begin(), text.end(), allowed) && (!number || path) &&
         std::find(kOther.begin(), kOther.end(), absl::AsciiStrToLower(text)) == kOther.end();
}

std::string InYaml(const Json& value) {
  if (value.is_string() && IsPlain(value)) return value;
  if (!value.is_array()) return Dump(value);
  return absl::StrCat(
      "[",
      absl::StrJoin(value, ", ",
                    [](std::string* out, const Json& entry) { out->append(InYaml(entry)); }),
      "]");
}

bool HoldsNothing(const Json& value) {
  return value.is_null() || (value.is_object() && Said(value).empty());
}

void Write(const Json& map, std::size_t indent, std::string& out);

// The first key of an entry follows its dash on the same line.
void WriteEntries(const Json& list, std::size_t indent, std::string& out) {
  for (const Json& entry : list) {
    std::string lines;
    Write(entry, indent + 4, lines);
    lines[indent + 2] = '-';
    out += lines;
  }
}

void Write(const Json& map, std::size_t indent, std::string& out) {
  const std::string margin(indent, ' ');
  for (const auto& [key, value] : map.items()) {
    if (HoldsNothing(value)) {
      absl::StrAppend(&out, margin, "# ", key, ": not set\n");
    } else if (value.is_object()) {
      absl::StrAppend(&out, margin, key, ":\n");
      Write(value, indent + 2, out);
    } else if (value.is_array() && !value.empty() && value[0].is_object()) {
      absl::StrAppend(&out, margin, key, ":\n");
      WriteEntries(value, indent, out);
    } else {
      absl::StrAppend(&out, margin, key, ": ", InYaml(value), "\n");
    }
  }
}

}  // namespace

std::string PrintConfig(const Config& config) {
  Json file = FileValues(config);
  file["version"] = 1;
  file["streams"] = Json::array();
  for (const StreamConfig& stream : config.streams) {
    Json now = Json::parse(stream.effective);
    now["source"]["uri"] = ingest::WithoutCredentials(stream.source.uri);
    file["streams"].push_back(std::move(now));
  }
  EraseWhatIsForOthers(file);
  std::string text;
  Write(file, 0, text);
  return text;
}

std::string ConfigJsonSchema() {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "Configuration of Millrace"}};
  Config open;
  LeaveOpen(open.defaults);
  schema.update(SchemaOf(FileKeys(), {.config = &open, .stream = &open.defaults}));
  return Dump(schema, 2) + "\n";
}

std::vector<std::string> ChangedKeys(const Config& before, const Config& after) {
  return DifferingKeys(Dump(FileValues(before)), Dump(FileValues(after)));
}

}  // namespace millrace::service
