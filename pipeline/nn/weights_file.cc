#include "pipeline/nn/weights_file.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/atomic_file.h"
#include "base/check.h"
#include "base/plural.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "pipeline/ops/finite.h"
#include "pipeline/tensor_files/safetensors.h"
#include "pipeline/tensor_files/tensor_file.h"

namespace millrace::pipeline {
namespace {

constexpr char kFormat[] = "millrace weights";
constexpr char kVersion[] = "1";

std::string ShapeOf(const at::Tensor& tensor) {
  return absl::StrCat("[", absl::StrJoin(tensor.sizes(), ","), "]");
}

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

absl::StatusOr<SafeTensors> Decode(const std::string& path, const std::string& bytes) {
  absl::StatusOr<SafeTensors> content = DecodeSafeTensors(bytes);
  if (absl::IsDataLoss(content.status())) return Damaged(path, content.status().message());
  if (!content.ok()) return Foreign(path, content.status().message());
  if (content->metadata["format"] != kFormat) return Foreign(path, "it was not made by millrace");
  if (content->metadata["version"] != kVersion) {
    return Foreign(path, "it has another version of the format");
  }
  return content;
}

absl::Status CheckTensors(const std::string& path, const NamedTensors& found,
                          const NamedTensors& needed) {
  for (const auto& [name, tensor] : needed) {
    const at::Tensor values = FindTensor(found, name);
    if (!values.defined()) return Foreign(path, absl::StrCat("it has no \"", name, "\""));
    if (values.sizes() != tensor.sizes() || values.scalar_type() != tensor.scalar_type()) {
      return Foreign(path, absl::StrCat("\"", name, "\" has the shape ", ShapeOf(values), " where ",
                                        ShapeOf(tensor), " is needed"));
    }
    if (!AllFinite(values)) return Damaged(path, "a weight is not finite");
  }
  if (found.size() != needed.size()) {
    return Foreign(path, absl::StrCat("it has ", Plural(found.size(), "tensor"), " where ",
                                      needed.size(), " are needed"));
  }
  return absl::OkStatus();
}

// The maximum size of a file of these tensors: their values, names and some overhead.
std::uint64_t MaxBytesOf(const NamedTensors& tensors) {
  constexpr std::uint64_t kOfAny = 1 << 20;
  constexpr std::uint64_t kAroundEach = 4096;
  std::uint64_t bytes = kOfAny;
  for (const auto& [name, tensor] : tensors) bytes += tensor.nbytes() + name.size() + kAroundEach;
  return bytes;
}

absl::StatusOr<std::string> BytesOf(const std::string& path, const NamedTensors& needed) {
  const absl::StatusOr<RegularFile> file = RegularFile::Open(path);
  if (absl::IsNotFound(file.status())) {
    return absl::NotFoundError(absl::StrCat("there is no weight file ", path,
                                            "; make one with `millrace pretrain --output ", path,
                                            "`"));
  }
  MILLRACE_RETURN_IF_ERROR(NamingFile(file.status(), path));
  const std::uint64_t max_bytes = MaxBytesOf(needed);
  if (static_cast<std::uint64_t>(file->info().st_size) > max_bytes) {
    return Foreign(path, absl::StrCat("it has ", file->info().st_size, " bytes where at most ",
                                      max_bytes, " are needed"));
  }
  absl::StatusOr<std::string> bytes = file->Read(max_bytes);
  MILLRACE_RETURN_IF_ERROR(NamingFile(bytes.status(), path));
  return bytes;
}

// The tensors of a file of either format, for a network with tensors `needed`.
absl::StatusOr<NamedTensors> TensorsOf(const std::string& path, const NamedTensors& needed) {
  absl::StatusOr<std::string> bytes = BytesOf(path, needed);
  if (!bytes.ok()) return bytes.status();
  constexpr absl::string_view kZip = "PK";  // The first bytes of a file of torch.save().
  if (!absl::StartsWith(*bytes, kZip)) {
    MILLRACE_ASSIGN_OR_RETURN(SafeTensors content, Decode(path, *bytes));
    return std::move(content.tensors);
  }
  absl::StatusOr<NamedTensors> tensors = DecodeTensors(*std::move(bytes), path);
  if (!tensors.ok()) return Damaged(path, tensors.status().message());
  return tensors;
}

}  // namespace

NamedTensors ParametersOf(const LayerChain& network) {
  NamedTensors all;
  for (const auto& layer : network.layers) {
    int number = 0;
    for (const at::Tensor& parameter : layer->parameters()) {
      all.emplace_back(absl::StrCat(layer->name(), ".", number++), parameter.variable_data());
    }
  }
  return all;
}

absl::Status SaveWeights(const LayerChain& network, const std::string& path) {
  const NamedTensors tensors = ParametersOf(network);
  for (const auto& [name, values] : tensors) {
    MILLRACE_CHECK(values.scalar_type() == at::kFloat);
    if (!AllFinite(values)) {
      return absl::DataLossError(absl::StrCat("not writing ", path, ": a weight of \"", name,
                                              "\" is not finite; learn again with a lower learning "
                                              "rate"));
    }
  }
  if (absl::EndsWith(path, ".pt")) return WriteTensors(path, tensors);
  return WriteFileAtomically(
      path, EncodeSafeTensors({tensors, {{"format", kFormat}, {"version", kVersion}}}));
}

absl::Status LoadWeights(const std::string& path, LayerChain& network) {
  const NamedTensors needed = ParametersOf(network);
  MILLRACE_ASSIGN_OR_RETURN(const NamedTensors found, TensorsOf(path, needed));
  MILLRACE_RETURN_IF_ERROR(CheckTensors(path, found, needed));
  for (const auto& [name, tensor] : needed) tensor.copy_(FindTensor(found, name));
  return absl::OkStatus();
}

}  // namespace millrace::pipeline
