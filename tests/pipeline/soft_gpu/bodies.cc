// Kernels of our own on a GPU made of software: elements are done one after the other, from
// anywhere on.
#include <cstdint>
#include <variant>

#include "pipeline/ops/cuda/launcher.h"
#include "tests/pipeline/soft_gpu/soft_gpu.h"
#include "tests/pipeline/soft_gpu/streams.h"

namespace millrace::soft_gpu {
namespace {

void DoAll(const pipeline::gpu::Body& body, std::int64_t count) {
  static std::int64_t begin = 0;
  begin += 12345;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto element = static_cast<pipeline::gpu::Index>((begin + i) % count);
    std::visit([&](const auto& one) { one(element); }, body);
  }
}

const pipeline::gpu::Kernels kKernels = {
    .launch =
        [](const pipeline::gpu::Body& body, std::int64_t count, at::Device device) {
          Streams::Get().Put(CurrentStream(device.index()), [body, count] { DoAll(body, count); });
        },
    .run_on = [](at::Device) { return true; }};

[[maybe_unused]] const bool kRegistered = [] {
  pipeline::gpu::SetKernels(&kKernels);
  return true;
}();

}  // namespace
}  // namespace millrace::soft_gpu
