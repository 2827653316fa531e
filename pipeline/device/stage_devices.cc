#include "pipeline/device/stage_devices.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "absl/strings/str_cat.h"
#include "base/plural.h"
#include "base/status.h"
#include "pipeline/device/cuda_libraries.h"
#include "pipeline/driver/cuda_driver.h"
#include "pipeline/learner/device_names.h"

namespace millrace::pipeline {
namespace {

absl::Status BadName(const std::string& name) {
  return absl::InvalidArgumentError(
      absl::StrCat("there is no device \"", name,
                   "\"; use cpu, cuda, or cuda:N for the N-th GPU from 0. The name auto must "
                   "stand alone"));
}

absl::StatusOr<at::Device> FindDevice(const std::string& name) {
  if (name == "cpu") return at::Device(at::kCPU);
  const std::optional<int> number = GpuNumber(name);
  if (!number) return BadName(name);
  return at::Device(at::kCUDA, static_cast<at::DeviceIndex>(*number));
}

// Loads CUDA and checks that the device exists.
absl::Status CheckThere(at::Device device) {
  if (device.is_cpu()) return absl::OkStatus();
  MILLRACE_RETURN_IF_ERROR(LoadCuda());
  const int count = c10::impl::VirtualGuardImpl(at::kCUDA).deviceCount();
  if (device.index() < count) return absl::OkStatus();
  if (count == 0) {
    return absl::FailedPreconditionError(
        "the NVIDIA driver names a GPU, but CUDA cannot be begun on it: see what nvidia-smi says");
  }
  return absl::NotFoundError(absl::StrCat("there is no ", device.str(), ": this machine has ",
                                          count, " GPUs, from cuda:0"));
}

absl::Status LoadFrom(const std::filesystem::path& folder) {
  for (const char* name : {"libc10_cuda.so", "libtorch_cuda.so"}) {
    const std::filesystem::path library = folder / name;
    if (!std::filesystem::exists(library)) {
      return absl::FailedPreconditionError(
          absl::StrCat("LibTorch in ", folder.string(), " has no part for CUDA (", name,
                       "): run MILLRACE_WITH_CUDA=1 tools/setup run"));
    }
    if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      return absl::FailedPreconditionError(
          // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's text belongs to the thread.
          absl::StrCat("LibTorch's part for CUDA cannot be loaded: ", dlerror()));
    }
  }
  return absl::OkStatus();
}

absl::Status LoadParts() {
  MILLRACE_RETURN_IF_ERROR(FindCudaDriver().status());
  Dl_info of_libtorch = {};
  // The address of any LibTorch function leads to its library.
  if (dladdr(reinterpret_cast<void*>(&at::globalContext), &of_libtorch) == 0) {
    return absl::InternalError("LibTorch's library cannot be found");
  }
  MILLRACE_RETURN_IF_ERROR(LoadFrom(std::filesystem::path(of_libtorch.dli_fname).parent_path()));
  LoadCudaLibraries();
  return absl::OkStatus();
}

absl::Status LoadOnce() {
  const bool linked = c10::impl::hasDeviceGuardImpl(at::kCUDA);
  if (!linked) MILLRACE_RETURN_IF_ERROR(LoadParts());
  // TF32 cuts numbers to ten bits, so learning would differ from the CPU's.
  at::globalContext().setAllowTF32CuDNN(false);
  return absl::OkStatus();
}

// Copies from pinned memory and between GPUs do not wait; copies to the CPU do.
bool IsAsynchronous(at::Device to) { return !to.is_cpu(); }

// Keeps the allocator from reusing the memory before this thread's stream has read it.
void KeepUntilRead(const at::Tensor& tensor) {
  if (!tensor.is_cuda()) return;
  const c10::impl::VirtualGuardImpl cuda(at::kCUDA);
  tensor.record_stream(cuda.getStream(tensor.device()));
}

void Move(const at::Tensor& tensor, at::Device device) {
  if (tensor.device() != device) tensor.set_data(tensor.variable_data().to(device));
}

// One stream per thread, so that a thread does not wait for other threads' copies.
c10::Stream DownloadStream(at::Device device) {
  thread_local std::map<at::DeviceIndex, c10::Stream> streams;
  auto found = streams.find(device.index());
  if (found == streams.end()) {
    found = streams.emplace(device.index(), CopyStreams({device}).front()).first;
  }
  return found->second;
}

}  // namespace

absl::StatusOr<std::vector<at::Device>> FindDevices(const std::vector<std::string>& names) {
  if (names.empty()) return std::vector<at::Device>{at::Device(at::kCPU)};
  std::vector<at::Device> devices;
  for (const std::string& name : names) {
    MILLRACE_ASSIGN_OR_RETURN(const at::Device device, FindDevice(name));
    MILLRACE_RETURN_IF_ERROR(CheckThere(device));
    devices.push_back(device);
  }
  return devices;
}

absl::Status CheckDeviceCount(std::size_t devices, int stages) {
  if (devices == 1 || devices == static_cast<std::size_t>(stages)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("there are ", devices, " devices for ",
                                                 Plural(stages, "stage"),
                                                 ": name one for all, or one for each"));
}

absl::Status LoadCuda() {
  static absl::Status loaded = LoadOnce();
  return loaded;
}

void MoveTo(at::Device device, const Layer& layer) {
  for (const at::Tensor& parameter : layer.parameters()) Move(parameter, device);
  for (const at::Tensor& buffer : layer.buffers()) Move(buffer, device);
}

void AwaitStream(at::Device device) {
  if (device.is_cpu()) return;
  c10::impl::VirtualGuardImpl(device.type()).getStream(device).synchronize();
}

at::Tensor ToDevice(const at::Tensor& tensor, at::Device device) {
  at::Tensor there = tensor;
  if (tensor.device() != device) there = tensor.to(device, IsAsynchronous(device));
  KeepUntilRead(tensor);
  return there;
}

// High-priority streams. LibTorch hands out a few streams per pool in turn, so a normal one might
// belong to a stage that captures.
std::vector<c10::Stream> CopyStreams(const std::vector<at::Device>& devices) {
  std::vector<c10::Stream> streams;
  for (const at::Device device : devices) {
    const auto is_of_it = [&](const c10::Stream& stream) { return stream.device() == device; };
    if (device.is_cpu() || std::ranges::any_of(streams, is_of_it)) continue;
    streams.push_back(c10::impl::VirtualGuardImpl(device.type())
                          .getStreamFromGlobalPool(device, /*isHighPriority=*/true));
  }
  return streams;
}

// The tensors' memory may be reused only after this function has returned.
Tensors ToHost(const Tensors& tensors) {
  const at::Device device = tensors.front().device();
  if (device.is_cpu()) return tensors;
  const c10::Stream copies = DownloadStream(device);
  c10::Event made(device.type());
  made.record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
  made.block(copies);
  const c10::StreamGuard guard(copies);
  Tensors here;
  for (const at::Tensor& tensor : tensors) {
    here.push_back(
        at::empty(tensor.sizes(), tensor.options().device(at::kCPU).pinned_memory(true)));
    here.back().copy_(tensor, /*non_blocking=*/true);
  }
  c10::Event copied(device.type());
  copied.record(copies);
  copied.synchronize();
  return here;
}

void CopyTo(const at::Tensor& memory, const at::Tensor& tensor) {
  memory.variable_data().copy_(tensor, IsAsynchronous(memory.device()));
  KeepUntilRead(tensor);
}

}  // namespace millrace::pipeline
