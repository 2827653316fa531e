#include "service/config/config_describer.h"

#include <string_view>
#include <utility>
#include <variant>

namespace millrace::service {
namespace {

using Json = ConfigJson;

/// Returns the schema of each type, without a default.
class TypeSchema {
 public:
  explicit TypeSchema(const ConfigTarget& target) : target_(target) {}

  // A key of type text also accepts scalars that look like numbers, such as a class named 7.
  Json operator()(const TextType& /*type*/) const {
    return {{"type", {"string", "number", "boolean"}}, {"minLength", 1}};
  }
  Json operator()(const PathType& /*type*/) const { return (*this)(TextType()); }
  Json operator()(const FlagType& /*type*/) const { return {{"type", "boolean"}}; }
  Json operator()(const WholeType& type) const {
    Json schema = {{"type", "integer"}, {"minimum", type.min}, {"maximum", type.max}};
    if (type.step > 1) schema["multipleOf"] = type.step;
    return schema;
  }
  Json operator()(const RealType& type) const {
    return {{"type", "number"}, {"minimum", type.min}, {"maximum", type.max}};
  }
  // YAML reads a name that looks like a number as a number: 'version: 1'.
  Json operator()(const ChoiceType& type) const {
    Json names = Json::array();
    for (const std::string& name : type.names()) {
      Json number = Json::parse(name, nullptr, /*allow_exceptions=*/false);
      if (number.is_number()) names.push_back(std::move(number));
      names.push_back(name);
    }
    return {{"enum", std::move(names)}};
  }
  Json operator()(const TextsType& type) const {
    const Json one = type.names == nullptr ? (*this)(TextType()) : (*this)(ChoiceType{type.names});
    return {{"anyOf", Json::array({one, List(type.count, one)})}};
  }
  Json operator()(const DistinctType& type) const {
    Json schema = List(type.count, (*this)(TextType()));
    schema["uniqueItems"] = true;
    return schema;
  }
  Json operator()(const WholesType& type) const { return List(type.count, (*this)(type.entry)); }
  Json operator()(const RealsType& type) const { return List(type.count, (*this)(type.entry)); }
  Json operator()(const SectionType& type) const {
    Json schema = SchemaOf(type.keys(), target_);
    if (type.may_be_empty) schema["type"] = {"object", "null"};
    return schema;
  }
  Json operator()(const SectionsType& type) const {
    return List(type.count, SchemaOf(type.keys(), target_));
  }

 private:
  static Json List(CountRange count, Json entry) {
    return {{"type", "array"},
            {"items", std::move(entry)},
            {"minItems", count.min},
            {"maxItems", count.max}};
  }

  const ConfigTarget& target_;
};

bool OutOfRange(const ConfigType& type, const Json& value) {
  const auto* const whole = std::get_if<WholeType>(&type);
  if (whole != nullptr) return value < Json(whole->min) || value > Json(whole->max);
  const auto* const real = std::get_if<RealType>(&type);
  return real != nullptr && (value < Json(real->min) || value > Json(real->max));
}

/// Null: not set.
Json ValueOf(const ConfigKey& key, const ConfigTarget& target) {
  if (key.member.get == nullptr) return nullptr;
  Json value = key.member.get(target);
  const bool no_text = value.is_string() && value.get_ref<const std::string&>().empty();
  if (value.empty() || no_text || OutOfRange(key.type, value)) return nullptr;
  return value;
}

}  // namespace

Json SchemaOf(ConfigKeys keys, const ConfigTarget& target) {
  Json required = Json::array();
  Json properties = Json::object();
  std::string_view help;
  for (const ConfigKey& key : keys) {
    const std::string name(key.name);
    Json& property = properties[name] = std::visit(TypeSchema(target), key.type);
    if (Json now = ValueOf(key, target); !now.is_null()) property["default"] = std::move(now);
    if (!key.help.empty()) help = key.help;
    if (!help.empty()) property["description"] = help;
    if (key.required) required.push_back(name);
  }
  return {{"type", "object"},
          {"additionalProperties", false},
          {"required", std::move(required)},
          {"properties", std::move(properties)}};
}

Json ValuesOf(ConfigKeys keys, const ConfigTarget& target) {
  Json values = Json::object();
  for (const ConfigKey& key : keys) {
    const auto* const section = std::get_if<SectionType>(&key.type);
    values[std::string(key.name)] =
        section != nullptr ? ValuesOf(section->keys(), target) : ValueOf(key, target);
  }
  return values;
}

std::string Dump(const Json& value, int indent) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace millrace::service
