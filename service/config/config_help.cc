#include "service/config/config_help.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace millrace::service {
namespace {

using Json = ConfigShape::Json;

/// A line of the sample: "  # text", "  key: value", "  # key: value" or "- key: value".
struct Line {
  explicit Line(absl::string_view line) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == absl::string_view::npos) return;
    indent = begin;
    line.remove_prefix(begin);
    if (absl::ConsumePrefix(&line, "- ")) indent += 2;
    comment = absl::ConsumePrefix(&line, "# ");
    text = std::string(line);
    const std::size_t end = text.find(':');
    if (end != std::string::npos) word = text.substr(0, end);
  }

  std::size_t indent = 0;
  bool comment = false;
  std::string text;
  std::string word;  // The text before the first colon.
};

/// Walks through the sample's sections and their schemas in parallel.
class Explainer {
 public:
  explicit Explainer(Json& schema) : sections_{{0, &schema}} {}

  void Read(const Line& line) {
    if (line.text.empty()) return Forget();
    while (line.indent < sections_.back().indent) sections_.pop_back();
    Json* const key = KeyOf(line);
    if (key == nullptr) return Collect(line);
    if (!collected_.empty()) explanation_ = std::exchange(collected_, "");
    if (!explanation_.empty()) (*key)["description"] = explanation_;
    if (!line.comment && absl::EndsWith(line.text, ":")) Enter(line.indent + 2, *key);
  }

 private:
  struct Section {
    std::size_t indent;
    Json* schema;
  };

  void Forget() { collected_ = explanation_ = ""; }

  void Collect(const Line& line) {
    if (!line.comment) return Forget();
    absl::StrAppend(&collected_, collected_.empty() ? "" : " ", line.text);
  }

  void Enter(std::size_t indent, Json& key) {
    explanation_.clear();
    if (key.contains("properties")) sections_.push_back({indent, &key});
    if (key.contains("items")) sections_.push_back({indent + 2, &key["items"]});
  }

  /// The schema of the key that the line sets or would set without its '#'. Null if there is no
  /// such key.
  [[nodiscard]] Json* KeyOf(const Line& line) const {
    Json& keys = (*sections_.back().schema)["properties"];
    const bool here = line.indent == sections_.back().indent && keys.contains(line.word);
    return here ? &keys[line.word] : nullptr;
  }

  std::vector<Section> sections_;
  std::string collected_;    // Comments since the last key.
  std::string explanation_;  // The comment of the last key.
};

}  // namespace

void ExplainKeys(std::string_view sample, Json& schema) {
  Explainer explainer(schema);
  const std::string text(sample);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) explainer.Read(Line(line));
  // The sections for all streams also exist in each stream.
  Json& of_file = schema["properties"];
  for (auto& [name, section] : of_file["streams"]["items"]["properties"].items()) {
    if (of_file.contains(name)) section = of_file[name];
  }
}

}  // namespace millrace::service
