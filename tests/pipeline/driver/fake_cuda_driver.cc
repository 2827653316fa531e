// A library with the part of the driver's interface that FindCudaDriver() uses. The environment
// sets its answers: FAKE_CUDA_INIT (an error), FAKE_CUDA_VERSION, FAKE_CUDA_DEVICES.
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kUnknown = 999;

int Setting(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names.
extern "C" {

int cuInit(unsigned /*flags*/) { return Setting("FAKE_CUDA_INIT", 0); }

int cuDriverGetVersion(int* version) {
  *version = Setting("FAKE_CUDA_VERSION", 13000);
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = Setting("FAKE_CUDA_DEVICES", 2);
  return 0;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = 70 + ordinal;
  return 0;
}

int cuDeviceGetName(char* name, int length, int device) {
  std::strncpy(name, device == 70 ? "Fake One" : "Fake Two", static_cast<std::size_t>(length));
  return 0;
}

int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  *bytes = static_cast<std::size_t>(device - 69) << 30U;
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  *value = attribute == 75 ? 9 : 0;
  return attribute == 75 || attribute == 76 ? 0 : kUnknown;
}

int cuGetErrorString(int error, const char** text) {
  *text = error == kUnknown ? "unknown error" : nullptr;
  return 0;
}
}
// NOLINTEND(readability-identifier-naming)
