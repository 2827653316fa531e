#include "pipeline/driver/cuda_driver.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace millrace::pipeline {
namespace {

// Constants of the driver's stable interface (cuda.h), so that the build needs no toolkit.
constexpr int kNoDevice = 100;
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;

// The functions of a loaded driver.
class Driver {
 public:
  explicit Driver(void* library) : library_(library) {}

  // Returns the driver's error, 0 for success; `kMissing` if the driver lacks the function.
  template <typename... Arguments>
  int Call(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name));
    return function == nullptr ? kMissing : function(arguments...);
  }

  [[nodiscard]] absl::Status Failure(const char* name, int error) const {
    if (error == kMissing) {
      return absl::UnavailableError(
          absl::StrCat("the NVIDIA driver has no ", name, ": install it again, or a newer one"));
    }
    const char* text = nullptr;
    const bool known = Call("cuGetErrorString", error, &text) == 0 && text != nullptr;
    return absl::UnavailableError(absl::StrCat(
        "the NVIDIA driver does not work: ", name, " failed with error ", error,
        known ? absl::StrCat(" (", text, ")") : "", "; see what nvidia-smi and dmesg say"));
  }

 private:
  static constexpr int kMissing = -1;

  void* const library_;
};

absl::Status NoDevice() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment.
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return absl::NotFoundError(absl::StrCat(
      "there is an NVIDIA driver, but no GPU that this program may use",
      visible == nullptr ? "" : absl::StrCat(": CUDA_VISIBLE_DEVICES is \"", visible, "\"")));
}

absl::StatusOr<CudaDriver::Device> Describe(const Driver& driver, int ordinal) {
  CudaDriver::Device device;
  int handle = 0;
  std::array<char, 256> name = {};
  std::size_t memory = 0;
  int major = 0;
  int minor = 0;
  for (const auto& [function, error] : {
           std::pair("cuDeviceGet", driver.Call("cuDeviceGet", &handle, ordinal)),
           std::pair("cuDeviceGetName", driver.Call("cuDeviceGetName", name.data(),
                                                    static_cast<int>(name.size()), handle)),
           std::pair("cuDeviceTotalMem_v2", driver.Call("cuDeviceTotalMem_v2", &memory, handle)),
           std::pair("cuDeviceGetAttribute",
                     driver.Call("cuDeviceGetAttribute", &major, kCapabilityMajor, handle)),
           std::pair("cuDeviceGetAttribute",
                     driver.Call("cuDeviceGetAttribute", &minor, kCapabilityMinor, handle)),
       }) {
    if (error != 0) return driver.Failure(function, error);
  }
  return CudaDriver::Device{.name = name.data(),
                            .memory_bytes = static_cast<std::int64_t>(memory),
                            .architecture = major * 10 + minor};
}

}  // namespace

std::string CudaVersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

absl::StatusOr<CudaDriver> FindCudaDriver(const std::string& library) {
  void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (loaded == nullptr) {
    return absl::NotFoundError(absl::StrCat("there is no NVIDIA driver (", library, ")"));
  }
  const Driver driver(loaded);
  const int begun = driver.Call("cuInit", 0U);
  if (begun == kNoDevice) return NoDevice();
  if (begun != 0) return driver.Failure("cuInit", begun);
  CudaDriver found;
  if (const int error = driver.Call("cuDriverGetVersion", &found.version); error != 0) {
    return driver.Failure("cuDriverGetVersion", error);
  }
  if (found.version < kCudaVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the NVIDIA driver serves CUDA ", CudaVersionText(found.version), " and LibTorch needs ",
        CudaVersionText(kCudaVersion), ": install a newer driver (580 or later)"));
  }
  int devices = 0;
  if (const int error = driver.Call("cuDeviceGetCount", &devices); error != 0) {
    return driver.Failure("cuDeviceGetCount", error);
  }
  if (devices == 0) return NoDevice();
  for (int i = 0; i < devices; ++i) {
    MILLRACE_ASSIGN_OR_RETURN(CudaDriver::Device device, Describe(driver, i));
    found.devices.push_back(std::move(device));
  }
  return found;
}

}  // namespace millrace::pipeline
