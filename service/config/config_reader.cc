#include "service/config/config_reader.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/nearest.h"
#include "service/config/config_keys.h"

namespace millrace::service {
namespace {

std::string Allowed(const WholeType& type) {
  std::string allowed = absl::StrCat("a whole number from ", type.min, " to ", type.max);
  if (type.step > 1) absl::StrAppend(&allowed, ", a multiple of ", type.step);
  return allowed;
}

std::string Allowed(const RealType& type) {
  return absl::StrCat("a number from ", type.min, " to ", type.max);
}

std::string Allowed(CountRange count) {
  if (count.min == count.max) return absl::StrCat(count.min);
  return absl::StrCat(count.min, " to ", count.max);
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// ---------------------------------------------------------------------------------- The values --

/// Reads a value of each type. Nullopt if there is no value to set; then an error is noted.
class ValueReader {
 public:
  explicit ValueReader(const ConfigValue& at) : at_(at) {}

  std::optional<ConfigJson> operator()(const TextType& /*type*/) const { return Text(); }

  std::optional<ConfigJson> operator()(const PathType& /*type*/) const {
    const std::optional<std::string> path = Text();
    return path ? std::optional<ConfigJson>(at_.InFolder(*path)) : std::nullopt;
  }

  std::optional<ConfigJson> operator()(const FlagType& /*type*/) const {
    const std::string allowed = "true or false";
    const std::optional<std::string> text = Scalar(allowed);
    if (!text) return std::nullopt;
    if (*text == "true" || *text == "false") return *text == "true";
    return Refused(*text, allowed);
  }

  std::optional<ConfigJson> operator()(const WholeType& type) const {
    const std::optional<std::string> text = Scalar(Allowed(type));
    if (!text) return std::nullopt;
    std::int64_t value = 0;
    if (absl::SimpleAtoi(*text, &value) && value >= type.min && value <= type.max &&
        value % type.step == 0) {
      return value;
    }
    return Refused(*text, Allowed(type));
  }

  std::optional<ConfigJson> operator()(const RealType& type) const {
    const std::optional<std::string> text = Scalar(Allowed(type));
    if (!text) return std::nullopt;
    double value = 0;
    // This condition also rejects NaN.
    if (absl::SimpleAtod(*text, &value) && value >= type.min && value <= type.max) return value;
    return Refused(*text, Allowed(type));
  }

  std::optional<ConfigJson> operator()(const ChoiceType& type) const {
    const std::vector<std::string>& names = type.names();
    const std::string allowed =
        absl::StrCat(names.size() > 1 ? "one of " : "", absl::StrJoin(names, ", "));
    const std::optional<std::string> text = Scalar(allowed);
    if (!text) return std::nullopt;
    return Has(names, *text) ? std::optional<ConfigJson>(*text) : Refused(*text, allowed);
  }

  std::optional<ConfigJson> operator()(const TextsType& type) const {
    std::vector<std::string> texts;
    const bool list = at_.node().IsSequence();
    if (list && !IsList(type.count)) return std::nullopt;
    for (const ConfigValue& entry : list ? at_.Entries() : std::vector{at_}) {
      if (auto text = ValueReader(entry).Text()) texts.push_back(*std::move(text));
    }
    for (const std::string& text : texts) {
      if (type.names == nullptr || Has(type.names(), text)) continue;
      at_.Wrong(absl::StrCat("has '", text, "'; it may have ", absl::StrJoin(type.names(), ", ")));
      return std::nullopt;
    }
    return texts.empty() ? std::nullopt : std::optional<ConfigJson>(texts);
  }

  std::optional<ConfigJson> operator()(const DistinctType& type) const {
    std::vector<std::string> names;
    if (!IsList(type.count)) return std::nullopt;
    for (const ConfigValue& entry : at_.Entries()) {
      const std::string name = ValueReader(entry).Text().value_or("");
      if (!name.empty() && Has(names, name)) {
        entry.Wrong(absl::StrCat("is '", name, "', as one before; names must differ"));
      }
      names.push_back(name);
    }
    return names;
  }

  std::optional<ConfigJson> operator()(const WholesType& type) const { return List(type); }
  std::optional<ConfigJson> operator()(const RealsType& type) const { return List(type); }

  std::optional<ConfigJson> operator()(const SectionType& /*type*/) const { return std::nullopt; }

  std::optional<ConfigJson> operator()(const SectionsType& type) const {
    return IsList(type.count) ? std::optional<ConfigJson>(nullptr) : std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<std::string> Text() const { return Scalar("a text"); }

  /// The text of a non-empty scalar. Otherwise notes that the node must be `allowed`.
  [[nodiscard]] std::optional<std::string> Scalar(const std::string& allowed) const {
    const YAML::Node& node = at_.node();
    if (node.IsScalar() && !node.Scalar().empty()) return node.Scalar();
    const std::string found = node.IsMap() ? "a mapping" : node.IsSequence() ? "a list" : "empty";
    at_.Wrong(absl::StrCat("is ", found, "; it must be ", allowed));
    return std::nullopt;
  }

  template <typename Type>
  [[nodiscard]] std::optional<ConfigJson> List(const Type& type) const {
    ConfigJson values = ConfigJson::array();
    if (!IsList(type.count)) return std::nullopt;
    for (const ConfigValue& entry : at_.Entries()) {
      if (auto value = ValueReader(entry)(type.entry)) values.push_back(*std::move(value));
    }
    return values.size() == at_.node().size() ? std::optional(values) : std::nullopt;
  }

  std::nullopt_t Refused(const std::string& text, const std::string& allowed) const {
    at_.Wrong(absl::StrCat("is '", text, "'; it must be ", allowed));
    return std::nullopt;
  }

  [[nodiscard]] bool IsList(CountRange count) const {
    const YAML::Node& node = at_.node();
    if (!node.IsSequence()) {
      at_.Wrong(absl::StrCat("must be a list of ", Allowed(count), " entries"));
      return false;
    }
    if (node.size() < count.min || node.size() > count.max) {
      at_.Wrong(absl::StrCat("has ", node.size(), node.size() == 1 ? " entry" : " entries",
                             "; it must have ", Allowed(count)));
      return false;
    }
    return true;
  }

  const ConfigValue& at_;
};

// ------------------------------------------------------------------------------------ The keys --

/// Adds the sections below `path` that have a key `name`: "listen.tls". The sections of a stream
/// have no prefix, as they are also sections of the file.
void FindSections(const std::string& name, ConfigKeys keys, const std::string& path,
                  std::set<std::string>& found) {
  for (const ConfigKey& key : keys) {
    const auto* section = std::get_if<SectionType>(&key.type);
    const auto* list = std::get_if<SectionsType>(&key.type);
    if (section == nullptr && list == nullptr) continue;
    const ConfigKeys inner = section != nullptr ? section->keys() : list->keys();
    const std::string own = absl::StrCat(path, path.empty() ? "" : ".", std::string(key.name));
    if (std::ranges::find(inner, name, &ConfigKey::name) != inner.end()) found.insert(own);
    FindSections(name, inner, section != nullptr ? own : "", found);
  }
}

/// "'source' or 'listen.tls'": the sections that have a key `name`. Empty if there is no such
/// section.
std::string SectionsWith(const std::string& name) {
  std::set<std::string> found;
  FindSections(name, FileKeys(), "", found);
  return absl::StrJoin(found, " or ", [](std::string* out, const std::string& path) {
    absl::StrAppend(out, "'", path, "'");
  });
}

/// What to do about an unknown key.
std::string Hint(const std::string& name, const std::vector<std::string>& known) {
  const std::string elsewhere = SectionsWith(name);
  if (!elsewhere.empty()) return absl::StrCat("it belongs in ", elsewhere);
  const std::string nearest = Nearest(name, known);
  return nearest.empty() ? absl::StrCat("known here: ", absl::StrJoin(known, ", "))
                         : absl::StrCat("did you mean '", nearest, "'?");
}

/// Notes an error if `key` of `section` is unknown, or is one of `seen`.
void CheckKey(const ConfigValue& section, const YAML::Node& key, ConfigKeys known,
              std::vector<std::string>& seen) {
  if (!key.IsScalar()) return section.WrongKey(key, "a key must be a single word");
  const std::string& name = key.Scalar();
  if (Has(seen, name)) {
    return section.WrongKey(key, absl::StrCat("key '", name, "' is there twice"));
  }
  seen.push_back(name);
  std::vector<std::string> names;
  names.reserve(known.size());
  for (const ConfigKey& one : known) names.emplace_back(one.name);
  if (Has(names, name)) return;
  section.WrongKey(key, absl::StrCat("unknown key '", name, "'; ", Hint(name, names)));
}

/// Notes unknown, repeated and missing keys. Returns whether `section` is a mapping.
bool CheckKeys(const ConfigValue& section, ConfigKeys known) {
  if (!section.node().IsMap()) {
    section.Wrong("must be a mapping, 'key: value' lines indented below it");
    return false;
  }
  std::vector<std::string> seen;
  for (const auto& entry : section.node()) CheckKey(section, entry.first, known, seen);
  for (const ConfigKey& key : known) {
    const std::string name(key.name);
    if (key.required && !Has(seen, name)) {
      section.Wrong(absl::StrCat("has no key '", name, "', which it needs"));
    }
  }
  return true;
}

void CheckTask(const ConfigValue& value, ForTasks tasks, Task task) {
  if (tasks == ForTasks::kFlow && IsOfLabels(task)) {
    value.Wrong("is not for the tasks classification and regression");
  } else if (tasks == ForTasks::kLabels && !IsOfLabels(task)) {
    value.Wrong("is for the tasks classification and regression only");
  }
}

void ReadKey(const ConfigValue& value, const ConfigKey& key, const ConfigTarget& target) {
  if (const auto* const section = std::get_if<SectionType>(&key.type)) {
    if (section->may_be_empty && value.node().IsNull()) return;
    ReadSection(value, section->keys(), target);
    return CheckTask(value, key.tasks, target.stream->task);
  }
  const ConfigType type = key.narrowed != nullptr ? key.narrowed(*target.stream) : key.type;
  if (const auto read = std::visit(ValueReader(value), type)) key.member.set(value, *read, target);
}

}  // namespace

void ReadSection(const ConfigValue& section, ConfigKeys keys, const ConfigTarget& target) {
  if (!CheckKeys(section, keys)) return;
  for (const ConfigKey& key : keys) {
    if (const auto value = section.Find(key.name)) ReadKey(*value, key, target);
  }
  // A stream's task is known only now.
  for (const ConfigKey& key : keys) {
    if (key.tasks == ForTasks::kAll || std::holds_alternative<SectionType>(key.type)) continue;
    if (const auto value = section.Find(key.name)) {
      CheckTask(*value, key.tasks, target.stream->task);
    }
  }
}

}  // namespace millrace::service
