#include "pipeline/checkpoint/checkpoint_manifest.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/plural.h"
#include "pipeline/checkpoint/checksum.h"
#include "pipeline/checkpoint/shallow_json.h"

namespace millrace::pipeline {

using Json = nlohmann::json;

// NOLINTBEGIN(readability-identifier-naming): the library finds these functions by their names.
void to_json(Json& json, const LayerShape& layer) {
  json = {{"name", layer.name}, {"parameters", layer.parameters}, {"buffers", layer.buffers}};
}
void from_json(const Json& json, LayerShape& layer) {
  json.at("name").get_to(layer.name);
  json.at("parameters").get_to(layer.parameters);
  json.at("buffers").get_to(layer.buffers);
}
void to_json(Json& json, const StageFile& file) {
  json = {{"file", file.name},
          {"layers", {file.first_layer, file.end_layer}},
          {"bytes", file.bytes},
          {"checksum", file.checksum}};
}
void from_json(const Json& json, StageFile& file) {
  json.at("file").get_to(file.name);
  json.at("layers").at(0).get_to(file.first_layer);
  json.at("layers").at(1).get_to(file.end_layer);
  json.at("bytes").get_to(file.bytes);
  json.at("checksum").get_to(file.checksum);
}
// NOLINTEND(readability-identifier-naming)

namespace {

constexpr char kFormat[] = "millrace checkpoint";
constexpr int kVersion = 1;
constexpr char kChecksum[] = "checksum";

std::string ShapesText(const std::vector<std::vector<std::int64_t>>& shapes) {
  return absl::StrJoin(shapes, " ", [](std::string* out, const auto& shape) {
    absl::StrAppend(out, "[", absl::StrJoin(shape, ","), "]");
  });
}

}  // namespace

std::string EncodeManifest(const CheckpointManifest& manifest) {
  Json json = {{"format", kFormat},           {"version", kVersion},
               {"sample", manifest.sample},   {"score", manifest.score},
               {"network", manifest.network}, {"stages", manifest.stages},
               {"facts", manifest.facts}};
  json[kChecksum] = Checksum(json.dump());
  return json.dump(2) + "\n";
}

absl::StatusOr<CheckpointManifest> DecodeManifest(std::string_view text) {
  Json json = ParseShallow(text);
  if (!json.is_object()) return absl::DataLossError("it cannot be read");
  // Checked before the checksum, which another version may compute differently.
  const Json version = json.value("version", Json());
  if (json.value("format", Json()) == kFormat && version.is_number() && version != kVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "it has version ", version.dump(), " of the format, where ", kVersion, " is needed"));
  }
  const Json checksum = json.value(kChecksum, Json());
  json.erase(kChecksum);
  if (checksum != Checksum(json.dump())) return absl::DataLossError("its checksum is wrong");
  try {
    CheckpointManifest manifest{
        .sample = json.at("sample").get<std::int64_t>(),
        .score = json.at("score").get<double>(),
        .network = json.at("network").get<std::vector<LayerShape>>(),
        .stages = json.at("stages").get<std::vector<StageFile>>(),
        .facts = json.at("facts").get<std::map<std::string, std::string>>()};
    const auto leaves_folder = [](const StageFile& file) {
      return file.name.find('/') != std::string::npos;
    };
    if (std::ranges::any_of(manifest.stages, leaves_folder)) {
      return absl::DataLossError("it names a file outside of its folder");
    }
    return manifest;
  } catch (const Json::exception&) {
    return absl::DataLossError("a part of it is missing");
  }
}

std::string DifferenceOf(const std::vector<LayerShape>& found,
                         const std::vector<LayerShape>& needed) {
  for (std::size_t i = 0; i < std::min(found.size(), needed.size()); ++i) {
    const LayerShape& a = found[i];
    const LayerShape& b = needed[i];
    if (a.name != b.name) {
      return absl::StrCat("layer ", i, " is \"", a.name, "\" where \"", b.name, "\" is needed");
    }
    if (a == b) continue;
    return absl::StrCat("layer ", i, " (", a.name, ") has parameters ", ShapesText(a.parameters),
                        " and buffers ", ShapesText(a.buffers), " where ", ShapesText(b.parameters),
                        " and ", ShapesText(b.buffers), " are needed");
  }
  if (found.size() == needed.size()) return "";
  return absl::StrCat("it has ", Plural(found.size(), "layer"), " where ", needed.size(),
                      " are needed");
}

}  // namespace millrace::pipeline
