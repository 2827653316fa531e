#include "pipeline/weights_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/ops/from_blob.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/atomic_file.h"
#include "base/check.h"
#include "base/status.h"
#include "pipeline/finite.h"

namespace millrace::pipeline {
namespace {

using Json = nlohmann::json;
static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");

constexpr char kMetadata[] = "__metadata__";
constexpr char kFormat[] = "millrace weights";
constexpr char kVersion[] = "1";
constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);

struct NamedTensor {
  std::string name;
  at::Tensor values;
};

// The parameters by name, "features 1/2.0" and so on, in the order of the layers.
std::vector<NamedTensor> NamedParametersOf(const LayerChain& network) {
  std::vector<NamedTensor> all;
  for (const auto& layer : network.layers) {
    int number = 0;
    for (const at::Tensor& parameter : layer->parameters()) {
      all.push_back({absl::StrCat(layer->name(), ".", number++), parameter.variable_data()});
    }
  }
  return all;
}

std::string ShapeOf(const at::Tensor& tensor) {
  return absl::StrCat("[", absl::StrJoin(tensor.sizes(), ","), "]");
}

void AppendBytes(const at::Tensor& tensor, std::string& bytes) {
  MILLRACE_CHECK(tensor.scalar_type() == at::kFloat);
  const at::Tensor plain =
      tensor.contiguous();  // The layout of the file, whatever the layer's own.
  bytes.append(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
}

// FNV-1a with 64 bits, in hexadecimal.
std::string Checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return absl::StrCat(absl::Hex(hash, absl::kZeroPad16));
}

// What the header must say of tensors that lie in the file in this order.
Json DescribeTensors(const std::vector<NamedTensor>& tensors) {
  Json header = Json::object();
  std::size_t begin = 0;
  for (const NamedTensor& tensor : tensors) {
    const std::size_t end = begin + tensor.values.nbytes();
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.values.sizes().vec()}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  return header;
}

struct Parts {
  Json header;
  std::string_view data;
};

absl::Status Damaged(const std::string& path, absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the weight file ", path, " is damaged: ", what,
                                          "; copy it again, or make a new one with `millrace "
                                          "pretrain`"));
}

absl::Status Foreign(const std::string& path, absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat("the weight file ", path, " does not fit this network: ", what,
                   "; make a fitting one with `millrace pretrain`"));
}

absl::StatusOr<Parts> Split(const std::string& path, std::string_view content) {
  std::uint64_t length = 0;
  if (content.size() < kLengthBytes) return Damaged(path, "it is too short");
  std::memcpy(&length, content.data(), kLengthBytes);
  content.remove_prefix(kLengthBytes);
  if (length > content.size()) return Damaged(path, "its header is cut off");
  Json header = Json::parse(content.substr(0, length), nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) return Damaged(path, "its header cannot be read");
  return Parts{std::move(header), content.substr(length)};
}

// Takes the metadata out of the header, leaving the tensors.
absl::Status CheckMetadata(const std::string& path, Parts& parts) {
  const auto metadata = parts.header.find(kMetadata);
  if (metadata == parts.header.end() || !metadata->is_object() ||
      metadata->value("format", Json()) != kFormat) {
    return Foreign(path, "it was not made by millrace");
  }
  if (metadata->value("version", Json()) != kVersion) {
    return Foreign(path, "it has another version of the format");
  }
  if (metadata->value("checksum", Json()) != Checksum(parts.data)) {
    return Damaged(path, "its checksum is wrong");
  }
  parts.header.erase(metadata);
  return absl::OkStatus();
}

absl::Status CheckTensors(const std::string& path, const Parts& parts,
                          const std::vector<NamedTensor>& tensors) {
  const Json expected = DescribeTensors(tensors);
  for (const NamedTensor& tensor : tensors) {
    const auto found = parts.header.find(tensor.name);
    if (found == parts.header.end()) {
      return Foreign(path, absl::StrCat("it has no \"", tensor.name, "\""));
    }
    if (*found != expected[tensor.name]) {
      const Json shape = found->is_object() ? found->value("shape", Json()) : Json();
      return Foreign(path, absl::StrCat("\"", tensor.name, "\" has the shape ", shape.dump(),
                                        " where ", ShapeOf(tensor.values), " is needed"));
    }
  }
  if (parts.header.size() != tensors.size()) {
    return Foreign(path, absl::StrCat("it has ", parts.header.size(), " tensors where ",
                                      tensors.size(), " are needed"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SaveWeights(const LayerChain& network, const std::string& path) {
  const std::vector<NamedTensor> tensors = NamedParametersOf(network);
  std::string data;
  for (const NamedTensor& tensor : tensors) {
    if (!AllFinite(tensor.values)) {
      return absl::DataLossError(absl::StrCat("not writing ", path, ": a weight of \"", tensor.name,
                                              "\" is not finite; learn again with a lower learning "
                                              "rate"));
    }
    AppendBytes(tensor.values, data);
  }
  Json header = DescribeTensors(tensors);
  header[kMetadata] = {{"format", kFormat}, {"version", kVersion}, {"checksum", Checksum(data)}};
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // Keeps the data aligned, as the format asks.
  const std::uint64_t length = text.size();
  std::string content(reinterpret_cast<const char*>(&length), kLengthBytes);
  return WriteFileAtomically(path, content + text + data);
}

absl::Status LoadWeights(const std::string& path, LayerChain& network) {
  absl::StatusOr<std::string> content = ReadFile(path);
  if (absl::IsNotFound(content.status())) {
    return absl::NotFoundError(absl::StrCat("there is no weight file ", path,
                                            "; make one with `millrace pretrain --output ", path,
                                            "`"));
  }
  if (!content.ok()) return content.status();
  MILLRACE_ASSIGN_OR_RETURN(Parts parts, Split(path, *content));
  MILLRACE_RETURN_IF_ERROR(CheckMetadata(path, parts));
  const std::vector<NamedTensor> tensors = NamedParametersOf(network);
  MILLRACE_RETURN_IF_ERROR(CheckTensors(path, parts, tensors));

  std::vector<float> values(parts.data.size() / sizeof(float));
  const bool whole = parts.data.size() == values.size() * sizeof(float);
  std::size_t expected = 0;
  for (const NamedTensor& tensor : tensors) expected += tensor.values.nbytes();
  if (!whole || expected != parts.data.size()) return Damaged(path, "its data has another length");
  std::memcpy(values.data(), parts.data.data(), parts.data.size());
  if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
    return Damaged(path, "a weight is not finite");
  }
  float* next = values.data();
  for (const NamedTensor& tensor : tensors) {
    tensor.values.copy_(at::from_blob(next, tensor.values.sizes(), at::kFloat));
    next += tensor.values.numel();
  }
  return absl::OkStatus();
}

}  // namespace millrace::pipeline
