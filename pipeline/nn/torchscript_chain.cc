#include "pipeline/nn/torchscript_chain.h"

#include <map>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <ATen/ops/clone.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include "absl/strings/str_cat.h"
#include "base/exception_to_status.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "pipeline/tensor_files/archive_error.h"
#include "pipeline/tensor_files/tensor_archive.h"

namespace millrace::pipeline {
namespace {

// One top-level child of a network.
class TorchScriptLayer final : public Layer {
 public:
  TorchScriptLayer(std::string name, torch::jit::Module module)
      : name_(std::move(name)),
        module_(std::move(module)),
        forward_(module_.get_method("forward")) {}

  [[nodiscard]] const std::string& name() const override { return name_; }

  [[nodiscard]] LayerValues Forward(const LayerValues& inputs) const override {
    torch::jit::setGraphExecutorOptimize(false);  // Some threads have their own switch.
    // A child may work in place, but the stage needs its input unchanged later.
    const at::Tensor& main = inputs.main;
    const c10::IValue made = forward_({main.is_leaf() ? main.clone() : main});
    if (!made.isTensor() || !made.toTensor().is_floating_point()) {
      throw std::runtime_error(absl::StrCat("layer \"", name_, "\" returned ", made.tagKind(),
                                            " where one tensor of floating point is needed"));
    }
    return {made.toTensor(), {}};
  }

  [[nodiscard]] std::vector<at::Tensor> parameters() const override {
    std::vector<at::Tensor> learned;
    for (const at::Tensor& parameter : module_.parameters()) {
      if (parameter.requires_grad()) learned.push_back(parameter);
    }
    return learned;
  }

  // Includes parameters without gradients: a forward may write to them.
  [[nodiscard]] std::vector<at::Tensor> buffers() const override {
    std::vector<at::Tensor> others;
    for (const at::Tensor& buffer : module_.buffers()) others.push_back(buffer);
    for (const at::Tensor& parameter : module_.parameters()) {
      if (!parameter.requires_grad()) others.push_back(parameter);
    }
    return others;
  }

 private:
  const std::string name_;
  const torch::jit::Module module_;
  // Calling it changes no member.
  mutable torch::jit::Method forward_;
};

absl::Status Unusable(const std::string& path, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(path, " cannot be used: ", why));
}

absl::Status Missing(const std::string& path) {
  return absl::NotFoundError(
      absl::StrCat("there is no model ", path,
                   "; save one with Python's torch.jit.script(network).save(\"", path, "\")"));
}

absl::Status NoNetwork(const std::string& path, const std::string& why) {
  return Unusable(path, absl::StrCat("it is no TorchScript network (", why,
                                     "); save one with Python's torch.jit.script(network).save(\"",
                                     path, "\")"));
}

// Throws LibTorch's exceptions.
absl::StatusOr<torch::jit::Module> Decode(const std::string& path, std::string bytes) {
  TensorArchive archive(std::move(bytes));
  if (archive.Has("model.json")) return NoNetwork(path, "a PyTorch before 1.3 wrote it");
  // Checks all pickles with tensors. LibTorch reads them again from the same bytes.
  for (const char* const pickle : {"constants", "data"}) {
    const absl::Status checked = archive.Read(pickle).status();
    if (!checked.ok()) return Unusable(path, std::string(checked.message()));
  }
  return torch::jit::load(archive.bytes(), at::kCPU);
}

// Two stages that learn at the same time must not share a parameter.
absl::Status CheckNothingShared(const std::string& path, const torch::jit::Module& network) {
  std::map<const void*, std::string> owners;
  for (const auto& child : network.named_children()) {
    for (const at::Tensor& parameter : child.value.parameters()) {
      const auto [owner, fresh] =
          owners.try_emplace(parameter.storage().unsafeGetStorageImpl(), child.name);
      if (fresh || owner->second == child.name) continue;
      return Unusable(path, absl::StrCat("its children \"", owner->second, "\" and \"", child.name,
                                         "\" share parameters; give each its own"));
    }
  }
  return absl::OkStatus();
}

absl::Status AddChildren(const std::string& path, const torch::jit::Module& network,
                         LayerChain& chain) {
  for (const auto& child : network.named_children()) {
    if (!child.value.find_method("forward")) {
      return Unusable(path, absl::StrCat("its child \"", child.name, "\" has no forward()"));
    }
    chain.layers.push_back(std::make_unique<TorchScriptLayer>(child.name, child.value));
  }
  if (!chain.layers.empty()) return absl::OkStatus();
  return Unusable(path,
                  "it has no children, which are the layers; wrap it, as in "
                  "torch.nn.Sequential(first, second)");
}

}  // namespace

absl::StatusOr<std::string> ReadTorchScript(const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadFile(path, kMaxTorchScriptBytes);
  if (absl::IsNotFound(bytes.status())) return Missing(path);
  return bytes;
}

absl::StatusOr<TorchScriptChain> LoadTorchScriptChain(const std::string& path) {
  MILLRACE_ASSIGN_OR_RETURN(std::string bytes, ReadTorchScript(path));
  return DecodeTorchScriptChain(std::move(bytes), path);
}

absl::StatusOr<TorchScriptChain> DecodeTorchScriptChain(std::string bytes,
                                                        const std::string& path) {
  torch::jit::setGraphExecutorOptimize(false);
  torch::jit::getProfilingMode() = false;
  MILLRACE_ASSIGN_OR_RETURN(torch::jit::Module network,
                            ExceptionToStatus([&] { return Decode(path, std::move(bytes)); },
                                              [&](std::string_view text) {
                                                return NoNetwork(path, ArchiveError(text));
                                              }));
  network.train();
  MILLRACE_RETURN_IF_ERROR(CheckNothingShared(path, network));
  TorchScriptChain loaded;
  MILLRACE_RETURN_IF_ERROR(AddChildren(path, network, loaded.chain));
  for (const auto& named : network.named_parameters()) {
    loaded.parameters.emplace_back(named.name, named.value);
  }
  for (const auto& named : network.named_buffers()) {
    loaded.buffers.emplace_back(named.name, named.value);
  }
  return loaded;
}

}  // namespace millrace::pipeline
