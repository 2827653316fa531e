#include "pipeline/offline/replay_samples.h"

#include "absl/strings/str_cat.h"
#include "base/plural.h"
#include "base/status.h"
#include "pipeline/tensor_files/tensor_file.h"

namespace millrace::pipeline {
namespace {

absl::StatusOr<at::Tensor> TensorCalled(const std::string& name, const NamedTensors& tensors,
                                        const std::string& path) {
  at::Tensor tensor = FindTensor(tensors, name);
  if (!tensor.defined()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has no tensor `", name, "`; save a dict of `inputs` and `targets`"));
  }
  if (tensor.dim() == 0 || tensor.size(0) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("`", name, "` of ", path, " has no samples; its first dimension counts them"));
  }
  return tensor.to(at::kCPU);
}

}  // namespace

absl::StatusOr<ReplaySamples> ReadSamples(const std::string& path) {
  auto tensors = ReadTensors(path);
  if (absl::IsNotFound(tensors.status())) {
    return absl::NotFoundError(absl::StrCat(
        "there is no file of samples ", path,
        "; write it with torch.save({\"inputs\": ..., \"targets\": ...}, \"", path, "\")"));
  }
  if (!tensors.ok()) return tensors.status();
  ReplaySamples samples;
  MILLRACE_ASSIGN_OR_RETURN(samples.inputs, TensorCalled("inputs", *tensors, path));
  MILLRACE_ASSIGN_OR_RETURN(samples.targets, TensorCalled("targets", *tensors, path));
  if (samples.inputs.size(0) != samples.targets.size(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", Plural(samples.inputs.size(0), "input"), " and ",
                     Plural(samples.targets.size(0), "target"), "; each input needs one target"));
  }
  return samples;
}

}  // namespace millrace::pipeline
