#include "service/config/config_value.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/nearest.h"

namespace millrace::service {
namespace {

std::string Allowed(const WholeRange& range) {
  std::string allowed = absl::StrCat("a whole number from ", range.least, " to ", range.most);
  if (range.step > 1) absl::StrAppend(&allowed, ", a multiple of ", range.step);
  return allowed;
}

std::string Allowed(CountRange count) {
  if (count.least == count.most) return absl::StrCat(count.least);
  return absl::StrCat(count.least, " to ", count.most);
}

/// The names that `name_of` returns for the elements of `range`: "a, b, c".
template <typename Range, typename NameOf>
std::string CommaList(const Range& range, NameOf name_of) {
  return absl::StrJoin(range, ", ", [&](std::string* out, const auto& entry) {
    out->append(std::invoke(name_of, entry));
  });
}

}  // namespace

void ConfigErrors::Add(const YAML::Mark& mark, std::string path, std::string what) {
  problems_.push_back({.line = std::max(mark.line, 0) + 1,
                       .column = std::max(mark.column, 0) + 1,
                       .path = std::move(path),
                       .what = std::move(what)});
}

std::vector<FieldViolation> ConfigErrors::violations() const {
  std::vector<FieldViolation> violations;
  violations.reserve(problems_.size());
  for (const ConfigProblem& problem : problems_) {
    violations.push_back({.field = problem.path, .description = problem.what});
  }
  return violations;
}

void ConfigValue::Text(std::string& out) const {
  if (describes()) return void(*shape_ = ConfigShape::Text(out));
  if (std::optional<std::string> text = Scalar("a text")) out = *std::move(text);
}

void ConfigValue::Path(std::string& out) const {
  if (describes()) return Text(out);
  std::string path;
  Text(path);
  if (!path.empty()) out = InFolder(path);
}

std::string ConfigValue::InFolder(const std::string& path) const {
  if (absl::StartsWith(path, "~/")) {
    Wrong(absl::StrCat("is '", path,
                       "'; only a shell knows what ~ is: write the folder out, or ./~/ for a "
                       "folder of that name"));
  }
  return (std::filesystem::path(errors_.folder()) / path).string();
}

void ConfigValue::Whole(const WholeRange& range, int& out) const {
  if (describes()) return void(*shape_ = ConfigShape::Whole(range, out));
  if (const auto value = ParseWhole(range)) out = static_cast<int>(*value);
}

void ConfigValue::Whole(const WholeRange& range, std::uint64_t& out) const {
  if (describes()) return void(*shape_ = ConfigShape::Whole(range, out));
  if (const auto value = ParseWhole(range)) out = static_cast<std::uint64_t>(*value);
}

void ConfigValue::Real(const RealRange& range, double& out) const {
  if (describes()) return void(*shape_ = ConfigShape::Real(range, out));
  const std::string allowed = absl::StrCat("a number from ", range.least, " to ", range.most);
  const std::optional<std::string> text = Scalar(allowed);
  if (!text) return;
  double value = 0;
  // This condition also rejects NaN.
  if (absl::SimpleAtod(*text, &value) && value >= range.least && value <= range.most) {
    out = value;
  } else {
    Wrong(absl::StrCat("is '", *text, "'; it must be ", allowed));
  }
}

void ConfigValue::Real(const RealRange& range, std::optional<double>& out) const {
  if (describes() && !out) return void(*shape_ = ConfigShape::Real(range, nullptr));
  double value = out.value_or(std::numeric_limits<double>::quiet_NaN());
  Real(range, value);
  if (!std::isnan(value)) out = value;
}

void ConfigValue::Flag(bool& out) const {
  if (describes()) return void(*shape_ = ConfigShape::Flag(out));
  const std::optional<std::string> text = Scalar("true or false");
  if (!text) return;
  if (*text == "true" || *text == "false") {
    out = *text == "true";
  } else {
    Wrong(absl::StrCat("is '", *text, "'; it must be true or false"));
  }
}

void ConfigValue::OneOf(std::span<const std::string_view> allowed, std::string& out) const {
  if (describes()) return void(*shape_ = ConfigShape::OneOf(allowed, out));
  const std::string names =
      absl::StrCat(allowed.size() > 1 ? "one of " : "", CommaList(allowed, std::identity()));
  std::optional<std::string> text = Scalar(names);
  if (!text) return;
  if (std::find(allowed.begin(), allowed.end(), *text) != allowed.end()) {
    out = *std::move(text);
  } else {
    Wrong(absl::StrCat("is '", *text, "'; it must be ", names));
  }
}

void ConfigValue::Texts(CountRange count, std::vector<std::string>& out) const {
  if (describes()) {
    return void(*shape_ = ConfigShape::OneOrList(count, ConfigShape::Text(""), out));
  }
  std::vector<std::string> texts;
  const auto read = [&texts](const ConfigValue& entry) {
    std::string text;
    entry.Text(text);
    if (!text.empty()) texts.push_back(std::move(text));
  };
  if (node_.IsSequence()) {
    List(count, read);
  } else {
    read(*this);
  }
  if (!texts.empty()) out = std::move(texts);
}

void ConfigValue::SomeOf(CountRange count, std::span<const std::string_view> allowed,
                         std::vector<std::string>& out) const {
  if (describes()) {
    return void(*shape_ = ConfigShape::OneOrList(count, ConfigShape::OneOf(allowed, ""), out));
  }
  std::vector<std::string> texts;
  Texts(count, texts);
  for (const std::string& text : texts) {
    if (std::find(allowed.begin(), allowed.end(), text) != allowed.end()) continue;
    return Wrong(
        absl::StrCat("has '", text, "'; it may have ", CommaList(allowed, std::identity())));
  }
  if (!texts.empty()) out = std::move(texts);
}

void ConfigValue::Names(CountRange count, std::vector<std::string>& out) const {
  if (describes()) {
    *shape_ = ConfigShape::List(count, ConfigShape::Text(""), out);
    shape_->schema["uniqueItems"] = true;
    return;
  }
  std::vector<std::string> names;
  List(count, [&names](const ConfigValue& entry) {
    std::string name;
    entry.Text(name);
    if (!name.empty() && std::find(names.begin(), names.end(), name) != names.end()) {
      entry.Wrong(absl::StrCat("is '", name, "', as one before; names must differ"));
    }
    names.push_back(std::move(name));
  });
  out = std::move(names);
}

void ConfigValue::WholeList(CountRange count, const WholeRange& range,
                            std::vector<int>& out) const {
  if (describes()) {
    return void(*shape_ = ConfigShape::List(count, ConfigShape::Whole(range, nullptr), out));
  }
  std::vector<int> values;
  List(count, [&](const ConfigValue& entry) {
    if (const auto value = entry.ParseWhole(range)) values.push_back(static_cast<int>(*value));
  });
  if (node_.IsSequence() && values.size() == node_.size() && values.size() >= count.least) {
    out = std::move(values);
  }
}

void ConfigValue::List(CountRange count,
                       const std::function<void(const ConfigValue&)>& read) const {
  if (describes()) {
    ConfigShape entry;
    read(ConfigValue(entry, errors_));
    return void(*shape_ = ConfigShape::List(count, entry, nullptr));
  }
  if (!IsList(count)) return;
  for (std::size_t i = 0; i < node_.size(); ++i) {
    read(ConfigValue(absl::StrCat("entry ", i + 1, " of ", what_), node_[i], errors_,
                     absl::StrCat(path_, "[", i, "]")));
  }
}

void ConfigValue::Describe(std::string_view key, bool required,
                           const std::function<void(const ConfigValue&)>& read) const {
  ConfigShape shape;
  read(ConfigValue(shape, errors_));
  shape_->Add(key, required, std::move(shape));
}

void ConfigValue::Wrong(std::string_view why) const {
  if (describes()) return;
  errors_.Add(mark_, path_, absl::StrCat(what_, " ", std::string(why)));
}

void ConfigValue::WrongDefault(std::string_view key, std::string_view why) const {
  if (describes()) return;
  errors_.Add(mark_, PathOf(key), absl::StrCat(what_, " ", std::string(why)));
}

std::optional<ConfigValue> ConfigValue::Find(std::string_view key) const {
  if (!node_.IsMap()) return std::nullopt;
  for (const auto& entry : node_) {
    if (entry.first.IsScalar() && entry.first.Scalar() == key) {
      ConfigValue value(absl::StrCat("'", std::string(key), "'"), entry.second, errors_,
                        PathOf(key));
      // yaml-cpp places an empty value where the next one begins, possibly some lines later.
      if (entry.second.IsNull()) value.mark_ = entry.first.Mark();
      return value;
    }
  }
  return std::nullopt;
}

std::string ConfigValue::PathOf(std::string_view key) const {
  return absl::StrCat(path_, path_.empty() ? "" : ".", std::string(key));
}

std::optional<std::string> ConfigValue::Scalar(std::string_view allowed) const {
  if (node_.IsScalar() && !node_.Scalar().empty()) return node_.Scalar();
  const std::string_view found = node_.IsMap()        ? "a mapping"
                                 : node_.IsSequence() ? "a list"
                                                      : "empty";
  Wrong(absl::StrCat("is ", std::string(found), "; it must be ", std::string(allowed)));
  return std::nullopt;
}

std::optional<std::int64_t> ConfigValue::ParseWhole(const WholeRange& range) const {
  const std::optional<std::string> text = Scalar(Allowed(range));
  if (!text) return std::nullopt;
  std::int64_t value = 0;
  if (absl::SimpleAtoi(*text, &value) && value >= range.least && value <= range.most &&
      value % range.step == 0) {
    return value;
  }
  Wrong(absl::StrCat("is '", *text, "'; it must be ", Allowed(range)));
  return std::nullopt;
}

bool ConfigValue::IsList(CountRange count) const {
  if (!node_.IsSequence()) {
    Wrong(absl::StrCat("must be a list of ", Allowed(count), " entries"));
    return false;
  }
  if (node_.size() < count.least || node_.size() > count.most) {
    Wrong(absl::StrCat("has ", node_.size(), node_.size() == 1 ? " entry" : " entries",
                       "; it must have ", Allowed(count)));
    return false;
  }
  return true;
}

bool ConfigValue::CheckKeys(std::span<const KnownKey> known) const {
  if (!node_.IsMap()) {
    Wrong("must be a mapping, 'key: value' lines indented below it");
    return false;
  }
  std::vector<std::string> seen;
  for (const auto& entry : node_) CheckKey(entry.first, known, seen);
  for (const KnownKey& key : known) {
    if (key.required && std::find(seen.begin(), seen.end(), key.name) == seen.end()) {
      Wrong(absl::StrCat("has no key '", std::string(key.name), "', which it needs"));
    }
  }
  return true;
}

void ConfigValue::CheckKey(const YAML::Node& key, std::span<const KnownKey> known,
                           std::vector<std::string>& seen) const {
  if (!key.IsScalar()) return errors_.Add(key.Mark(), path_, "a key must be a single word");
  const std::string& name = key.Scalar();
  if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
    return errors_.Add(key.Mark(), PathOf(name), absl::StrCat("key '", name, "' is there twice"));
  }
  seen.push_back(name);
  const auto is_name = [&name](const KnownKey& k) { return k.name == name; };
  if (std::any_of(known.begin(), known.end(), is_name)) return;

  std::vector<std::string> names;
  names.reserve(known.size());
  for (const KnownKey& one : known) names.emplace_back(one.name);
  if (const std::string nearest = Nearest(name, names); !nearest.empty()) {
    return errors_.Add(key.Mark(), PathOf(name),
                       absl::StrCat("unknown key '", name, "'; did you mean '", nearest, "'?"));
  }
  errors_.Add(
      key.Mark(), PathOf(name),
      absl::StrCat("unknown key '", name, "'; known here: ", CommaList(known, &KnownKey::name)));
}

}  // namespace millrace::service
