#include "pipeline/device/device_choice.h"

#include <algorithm>
#include <string_view>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/device/stage_devices.h"
#include "pipeline/driver/cuda_driver.h"
#include "pipeline/ops/cuda/launcher.h"

namespace millrace::pipeline {
namespace {

constexpr char kFirstGpu[] = "cuda:0";

// A loaded CUDA may be unusable: kernels may be missing for this GPU, or its memory may be full.
absl::Status TryToCompute(at::Device device) {
  constexpr int kSide = 8;
  return ExceptionToStatus(
      [&] {
        const at::Tensor ones = at::ones({kSide, kSide}, device);
        const auto sum = at::Tensor(ones.matmul(ones)).sum().item<float>();
        return sum == kSide * kSide * kSide
                   ? absl::OkStatus()
                   : absl::InternalError(absl::StrCat(kFirstGpu, " computes wrong products"));
      },
      [](std::string_view text) {
        return absl::InternalError(absl::StrCat(kFirstGpu, " does not compute: ", CauseLine(text)));
      });
}

absl::Status TryFirstGpu() {
  MILLRACE_ASSIGN_OR_RETURN(const std::vector<at::Device> devices, FindDevices({kFirstGpu}));
  return TryToCompute(devices.front());
}

std::string NameOfGpu(std::size_t index) {
  const absl::StatusOr<CudaDriver> driver = FindCudaDriver();
  if (!driver.ok() || index >= driver->devices.size()) return "";
  return absl::StrCat(", ", driver->devices[index].name);
}

// Without our kernels a GPU works, but slower.
std::string NoteOnKernels(at::Device device) {
  const absl::StatusOr<std::string> why = ExceptionToStatus(
      [&]() -> absl::StatusOr<std::string> { return gpu::WhyNoKernels(device); }, InternalCause);
  if (!why.ok()) {
    return absl::StrCat(" (it does not say whether it can run our kernels: ",
                        std::string(why.status().message()), ")");
  }
  return why->empty() ? "" : absl::StrCat(" (by LibTorch's kernels alone: ", *why, ")");
}

absl::StatusOr<DeviceChoice> ChooseNamed(const std::vector<std::string>& names) {
  MILLRACE_ASSIGN_OR_RETURN(const std::vector<at::Device> devices, FindDevices(names));
  const auto gpu = std::ranges::find_if(devices, &at::Device::is_cuda);
  return DeviceChoice{names, absl::StrCat(absl::StrJoin(names, ", "), NoteOnKernels(*gpu))};
}

}  // namespace

absl::StatusOr<DeviceChoice> ChooseDevices(const std::vector<std::string>& names) {
  const auto is_cpu = [](const std::string& name) { return name == "cpu"; };
  if (std::ranges::all_of(names, is_cpu)) return DeviceChoice{names, ""};
  if (names != std::vector<std::string>{"auto"}) return ChooseNamed(names);
  const absl::Status first = TryFirstGpu();
  if (first.ok()) {
    return DeviceChoice{{kFirstGpu},
                        absl::StrCat(kFirstGpu, NameOfGpu(0), NoteOnKernels({at::kCUDA, 0}))};
  }
  return DeviceChoice{{"cpu"}, absl::StrCat("the CPU, as ", std::string(first.message()))};
}

}  // namespace millrace::pipeline
