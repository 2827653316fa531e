#include "service/commands/plan/costs_file.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

namespace millrace::service {
namespace {

using nlohmann::json;
using pipeline::LayerProfile;
using pipeline::NetworkProfile;

constexpr std::array<const char*, 6> kFileKeys = {"layers", "copy_gb_per_s", "memory_bytes",
                                                  "spread", "input_bytes",   "skips"};
constexpr std::array<const char*, 3> kSkipKeys = {"from", "to", "bytes"};
constexpr std::array<const char*, 8> kLayerKeys = {
    "name",      "forward_ms",   "backward_ms",  "weight_gradient_ms",
    "update_ms", "output_bytes", "weight_bytes", "activation_bytes"};

// One object of the file. `where` is the prefix of its errors.
class Object {
 public:
  Object(const json& value, std::string where) : value_(value), where_(std::move(where)) {}

  [[nodiscard]] absl::Status Error(const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat(where_, ": ", what));
  }

  template <typename Keys>
  [[nodiscard]] absl::Status CheckKeys(const Keys& keys) const {
    if (!value_.is_object()) return Error("must be an object in braces");
    for (const auto& item : value_.items()) {
      if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) {
        return Error(absl::StrCat("there is no key \"", item.key(),
                                  "\"; allowed are: ", absl::StrJoin(keys, ", ")));
      }
    }
    return absl::OkStatus();
  }

  // 0 if the key is missing.
  [[nodiscard]] absl::StatusOr<double> Number(const std::string& key) const {
    const auto found = value_.find(key);
    if (found == value_.end()) return 0.0;
    const double number = found->is_number() ? found->get<double>() : -1;
    if (found->is_number() && std::isfinite(number) && number >= 0) return number;
    return Error(
        absl::StrCat(key, " is ", found->dump(), "; allowed is a finite number that is 0 or more"));
  }

 private:
  const json& value_;
  const std::string where_;
};

absl::StatusOr<LayerProfile> ParseLayer(const json& value, const std::string& where,
                                        double copy_gb_per_s) {
  const Object object(value, where);
  MILLRACE_RETURN_IF_ERROR(object.CheckKeys(kLayerKeys));
  if (!value.contains("forward_ms")) {
    return object.Error("forward_ms is missing; it is the time of one forward in milliseconds");
  }
  LayerProfile layer;
  MILLRACE_ASSIGN_OR_RETURN(layer.cost.forward, object.Number("forward_ms"));
  MILLRACE_ASSIGN_OR_RETURN(layer.cost.backward, object.Number("backward_ms"));
  MILLRACE_ASSIGN_OR_RETURN(layer.cost.weight_gradient, object.Number("weight_gradient_ms"));
  if (layer.cost.weight_gradient > layer.cost.backward) {
    return object.Error(absl::StrCat("weight_gradient_ms is ", layer.cost.weight_gradient,
                                     "; it is a part of backward_ms, so allowed is at most "
                                     "backward_ms, ",
                                     layer.cost.backward));
  }
  MILLRACE_ASSIGN_OR_RETURN(layer.cost.update, object.Number("update_ms"));
  MILLRACE_ASSIGN_OR_RETURN(layer.output_bytes, object.Number("output_bytes"));
  MILLRACE_ASSIGN_OR_RETURN(layer.weight_bytes, object.Number("weight_bytes"));
  MILLRACE_ASSIGN_OR_RETURN(layer.activation_bytes, object.Number("activation_bytes"));
  constexpr double kBytesPerMsPerGb = 1e6;
  if (copy_gb_per_s > 0) layer.cost.copy = layer.output_bytes / (copy_gb_per_s * kBytesPerMsPerGb);
  return layer;
}

// A layer's place, "costs.json: layer 2 (conv3)", and its name.
absl::StatusOr<std::string> NameOf(const json& value, const std::string& path, std::size_t number) {
  if (!value.is_object() || !value.contains("name")) return absl::StrCat("layer", number);
  if (value["name"].is_string()) return value["name"].get<std::string>();
  return absl::InvalidArgumentError(absl::StrCat(path, ": layer ", number, ": name is ",
                                                 value["name"].dump(),
                                                 "; allowed is a text in quotation marks"));
}

// Takes the skips of `file` into `costs`, which has the layers.
absl::Status ParseSkips(const std::string& path, const json& file, NetworkProfile& costs) {
  const json skips = file.value("skips", json::array());
  if (!skips.is_array()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": skips must be a list"));
  }
  std::vector<double> left;  // Of each layer's output_bytes, without the skips before.
  for (const LayerProfile& layer : costs.layers) left.push_back(layer.output_bytes);
  for (const json& value : skips) {
    const Object object(value, absl::StrCat(path, ": skip ", costs.skips.size()));
    MILLRACE_RETURN_IF_ERROR(object.CheckKeys(kSkipKeys));
    MILLRACE_ASSIGN_OR_RETURN(const double from, object.Number("from"));
    MILLRACE_ASSIGN_OR_RETURN(const double to, object.Number("to"));
    MILLRACE_ASSIGN_OR_RETURN(const double bytes, object.Number("bytes"));
    const auto last = static_cast<double>(costs.layers.size() - 1);
    if (!(from < to && to <= last) || std::trunc(from) != from || std::trunc(to) != to) {
      return object.Error(absl::StrCat("it leads from layer ", from, " to ", to,
                                       "; allowed are two layers from 0 to ", last,
                                       ", the later one last"));
    }
    costs.skips.push_back({static_cast<int>(from), static_cast<int>(to), bytes});
    for (int layer = static_cast<int>(from); layer < static_cast<int>(to); ++layer) {
      if ((left[layer] -= bytes) >= 0) continue;
      return object.Error(absl::StrCat("it has ", bytes,
                                       " bytes; with the other skips that is more "
                                       "than the output_bytes of layer ",
                                       layer, ", which include them"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<NetworkProfile> ParseFile(const std::string& path, const json& file) {
  const Object object(file, path);
  MILLRACE_RETURN_IF_ERROR(object.CheckKeys(kFileKeys));
  NetworkProfile costs;
  MILLRACE_ASSIGN_OR_RETURN(costs.copy_gb_per_s, object.Number("copy_gb_per_s"));
  MILLRACE_ASSIGN_OR_RETURN(const double memory_bytes, object.Number("memory_bytes"));
  if (memory_bytes > 0) costs.memory_bytes = memory_bytes;
  if (file.contains("spread")) {
    MILLRACE_ASSIGN_OR_RETURN(costs.spread, object.Number("spread"));
  }
  MILLRACE_ASSIGN_OR_RETURN(costs.input_bytes, object.Number("input_bytes"));
  const auto layers = file.find("layers");
  if (layers == file.end() || !layers->is_array() || layers->empty()) {
    return object.Error("layers must be a list of at least one layer");
  }
  double total = 0;
  for (const json& value : *layers) {
    const std::size_t number = costs.layers.size();
    MILLRACE_ASSIGN_OR_RETURN(std::string name, NameOf(value, path, number));
    MILLRACE_ASSIGN_OR_RETURN(
        LayerProfile layer,
        ParseLayer(value, absl::StrCat(path, ": layer ", number, " (", name, ")"),
                   costs.copy_gb_per_s));
    layer.name = std::move(name);
    total += layer.cost.total();
    costs.layers.push_back(std::move(layer));
  }
  if (total <= 0 || !std::isfinite(total)) {
    return object.Error("the layers' times must add up to a finite number that is more than 0");
  }
  MILLRACE_RETURN_IF_ERROR(ParseSkips(path, file, costs));
  return costs;
}

json LayerJson(const LayerProfile& layer) {
  return {{"name", layer.name},
          {"forward_ms", layer.cost.forward},
          {"backward_ms", layer.cost.backward},
          {"weight_gradient_ms", layer.cost.weight_gradient},
          {"update_ms", layer.cost.update},
          {"output_bytes", layer.output_bytes},
          {"weight_bytes", layer.weight_bytes},
          {"activation_bytes", layer.activation_bytes}};
}

}  // namespace

absl::StatusOr<NetworkProfile> ParseCosts(const std::string& path, std::string_view text) {
  try {
    return ParseFile(path, json::parse(text));
  } catch (const json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not JSON: ", error.what()));
  }
}

absl::StatusOr<NetworkProfile> ReadCosts(const std::string& path) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseCosts(path, text);
}

std::string CostsText(const NetworkProfile& costs) {
  json layers = json::array();
  for (const LayerProfile& layer : costs.layers) layers.push_back(LayerJson(layer));
  json file = {{"layers", std::move(layers)}};
  if (costs.copy_gb_per_s > 0) file["copy_gb_per_s"] = costs.copy_gb_per_s;
  if (costs.memory_bytes) file["memory_bytes"] = *costs.memory_bytes;
  if (costs.spread) file["spread"] = *costs.spread;
  if (costs.input_bytes > 0) file["input_bytes"] = costs.input_bytes;
  for (const pipeline::SkipProfile& skip : costs.skips) {
    file["skips"].push_back({{"from", skip.from}, {"to", skip.to}, {"bytes", skip.bytes}});
  }
  return file.dump(2) + "\n";
}

}  // namespace millrace::service
