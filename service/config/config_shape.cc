#include "service/config/config_shape.h"

#include <utility>

#include "service/config/config_value.h"

namespace millrace::service {
namespace {

using Json = ConfigShape::Json;

/// A shape with `now` as its current value and as the schema's default.
ConfigShape Shape(Json schema, Json now) {
  if (!now.is_null()) schema["default"] = now;
  return {.schema = std::move(schema), .now = std::move(now)};
}

/// A number out of range means "not set".
template <typename Range>
Json OrNull(const Range& range, Json value) {
  const bool there = value.is_number() && value >= Json(range.least) && value <= Json(range.most);
  return there ? value : Json(nullptr);
}

/// An empty list or text means "not set".
Json OrNull(Json value) { return value.empty() ? Json(nullptr) : value; }

}  // namespace

std::string ConfigShape::Dump(const Json& value, int indent) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

ConfigShape ConfigShape::Text(const std::string& now) {
  // A key of type text also accepts scalars that look like numbers, such as a class named 7.
  return Shape({{"type", {"string", "number", "boolean"}}, {"minLength", 1}},
               now.empty() ? Json(nullptr) : Json(now));
}

ConfigShape ConfigShape::Whole(const WholeRange& range, Json now) {
  Json schema = {{"type", "integer"}, {"minimum", range.least}, {"maximum", range.most}};
  if (range.step > 1) schema["multipleOf"] = range.step;
  return Shape(std::move(schema), OrNull(range, std::move(now)));
}

ConfigShape ConfigShape::Real(const RealRange& range, Json now) {
  return Shape({{"type", "number"}, {"minimum", range.least}, {"maximum", range.most}},
               OrNull(range, std::move(now)));
}

ConfigShape ConfigShape::Flag(bool now) { return Shape({{"type", "boolean"}}, now); }

// YAML reads a name that looks like a number as a number: 'version: 1'.
ConfigShape ConfigShape::OneOf(std::span<const std::string_view> allowed, const std::string& now) {
  Json names = Json::array();
  for (const std::string_view name : allowed) {
    const Json number = Json::parse(name, nullptr, /*allow_exceptions=*/false);
    if (number.is_number()) names.push_back(number);
    names.push_back(std::string(name));
  }
  return Shape({{"enum", std::move(names)}}, now.empty() ? Json(nullptr) : Json(now));
}

ConfigShape ConfigShape::List(const CountRange& count, const ConfigShape& entry, Json now) {
  return Shape({{"type", "array"},
                {"items", entry.schema},
                {"minItems", count.least},
                {"maxItems", count.most}},
               OrNull(std::move(now)));
}

ConfigShape ConfigShape::OneOrList(const CountRange& count, const ConfigShape& entry, Json now) {
  ConfigShape list = List(count, entry, nullptr);
  return Shape({{"anyOf", Json::array({entry.schema, std::move(list.schema)})}},
               OrNull(std::move(now)));
}

ConfigShape ConfigShape::Map() {
  return {.schema = {{"type", "object"},
                     {"additionalProperties", false},
                     {"required", Json::array()},
                     {"properties", Json::object()}}};
}

void ConfigShape::Add(std::string_view key, bool required, ConfigShape value) {
  const std::string name(key);
  schema["properties"][name] = std::move(value.schema);
  if (required) schema["required"].push_back(name);
  now[name] = std::move(value.now);
}

}  // namespace millrace::service
