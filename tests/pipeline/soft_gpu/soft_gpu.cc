#include "tests/pipeline/soft_gpu/soft_gpu.h"

#include <array>
#include <atomic>
#include <chrono>
#include <memory>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "tests/pipeline/soft_gpu/memory.h"
#include "tests/pipeline/soft_gpu/streams.h"

namespace millrace::soft_gpu {
namespace {

constexpr std::int64_t kStreamsOfDevice = 1 << 20;

thread_local c10::DeviceIndex current_device = 0;
thread_local std::array<c10::StreamId, kDevices> current_streams = {};

c10::Stream StreamOf(c10::DeviceIndex device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::kCUDA, device), id);
}

c10::DeviceIndex IndexOf(c10::Device device) {
  return device.has_index() ? device.index() : current_device;
}

class SoftGuard final : public c10::impl::DeviceGuardImplInterface {
 public:
  [[nodiscard]] c10::DeviceType type() const override { return c10::kCUDA; }
  [[nodiscard]] c10::DeviceIndex deviceCount() const noexcept override { return kDevices; }

  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    current_device = device.index();
    return before;
  }
  [[nodiscard]] c10::Device getDevice() const override { return {c10::kCUDA, current_device}; }
  void setDevice(c10::Device device) const override { current_device = device.index(); }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    current_device = device.index();
  }

  [[nodiscard]] c10::Stream getStream(c10::Device device) const override {
    return StreamOf(IndexOf(device), current_streams.at(IndexOf(device)));
  }
  [[nodiscard]] c10::Stream getDefaultStream(c10::Device device) const override {
    return StreamOf(IndexOf(device), 0);
  }
  // A few of each priority, in turn.
  [[nodiscard]] c10::Stream getStreamFromGlobalPool(c10::Device device,
                                                    bool high_priority) const override {
    static std::array<std::atomic<c10::StreamId>, 2> given;
    const c10::StreamId place = given.at(high_priority ? 1 : 0)++ % kPoolStreams;
    return StreamOf(IndexOf(device), 1 + place + (high_priority ? kPoolStreams : 0));
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::Stream before = getStream(stream.device());
    current_streams.at(stream.device_index()) = stream.id();
    return before;
  }
  [[nodiscard]] bool queryStream(const c10::Stream& stream) const override {
    return Streams::Get().Passed(Streams::Get().Here(NumberOf(stream)));
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    Streams::Get().FinishStream(NumberOf(stream));
  }
  void synchronizeDevice(c10::DeviceIndex device) const override {
    Streams::Get().FinishAll(device * kStreamsOfDevice, (device + 1) * kStreamsOfDevice - 1);
  }

  void record(void** event, const c10::Stream& stream, c10::DeviceIndex,
              c10::EventFlag flag) const override {
    if (*event == nullptr) *event = new Event;
    Event& recorded = At(*event);
    if (flag == c10::EventFlag::BACKEND_DEFAULT) {
      const auto passed = std::make_shared<Time>();
      Streams::Get().Put(NumberOf(stream),
                         [passed] { *passed = std::chrono::steady_clock::now(); });
      recorded.passed = passed;
    }
    recorded.mark = Streams::Get().Here(NumberOf(stream));
  }
  void block(void* event, const c10::Stream& stream) const override {
    Streams::Get().Wait(NumberOf(stream), At(event).mark);
  }
  bool queryEvent(void* event) const override { return Streams::Get().Passed(At(event).mark); }
  void synchronizeEvent(void* event) const override { Streams::Get().Finish(At(event).mark); }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override { delete &At(event); }
  double elapsedTime(void* begin, void* end, c10::DeviceIndex) const override {
    return std::chrono::duration<double, std::milli>(*At(end).passed - *At(begin).passed).count();
  }
  void recordDataPtrOnStream(const c10::DataPtr& memory, const c10::Stream& stream) const override {
    RecordStream(memory, NumberOf(stream));
  }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Event {
    Mark mark = {};
    std::shared_ptr<const Time> passed = nullptr;  // Where the event is to note it.
  };
  static Event& At(void* event) { return *static_cast<Event*>(event); }
};

C10_REGISTER_GUARD_IMPL(CUDA, SoftGuard);
REGISTER_ALLOCATOR(c10::kCUDA, Memory());

}  // namespace

// LibTorch searches for this name.
struct CUDAHooks final : at::CUDAHooksInterface {
  explicit CUDAHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  [[nodiscard]] bool isBuilt() const override { return true; }
  [[nodiscard]] bool isAvailable() const override { return true; }
  [[nodiscard]] bool hasCUDA() const override { return true; }
  [[nodiscard]] bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  [[nodiscard]] c10::DeviceIndex deviceCount() const override { return kDevices; }
  [[nodiscard]] int getNumGPUs() const override { return kDevices; }
  [[nodiscard]] c10::DeviceIndex current_device() const override { return CurrentDevice(); }
  [[nodiscard]] c10::DeviceIndex getCurrentDevice() const override { return CurrentDevice(); }
  [[nodiscard]] at::Device getDeviceFromPtr(void* memory) const override {
    const c10::DeviceIndex device = DeviceOf(memory);
    TORCH_CHECK(device >= 0, "that is no memory of a GPU");
    return {at::kCUDA, device};
  }
  [[nodiscard]] bool isPinnedPtr(const void* memory) const override { return IsPinned(memory); }
  [[nodiscard]] at::Allocator* getPinnedMemoryAllocator() const override { return PinnedMemory(); }
  [[nodiscard]] const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    static const at::Generator generator = at::detail::createCPUGenerator();
    return generator;
  }
};

using at::CUDAHooksRegistry;
using at::RegistererCUDAHooksRegistry;
REGISTER_CUDA_HOOKS(CUDAHooks);

std::int64_t NumberOf(const c10::Stream& stream) {
  return stream.device_index() * kStreamsOfDevice + stream.id();
}

c10::DeviceIndex CurrentDevice() { return current_device; }

std::int64_t CurrentStream(c10::DeviceIndex device) {
  return NumberOf(StreamOf(device, current_streams.at(device)));
}

}  // namespace millrace::soft_gpu
