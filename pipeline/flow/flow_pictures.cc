#include "pipeline/flow/flow_pictures.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include "pipeline/device/stage_devices.h"
#include "pipeline/learner/planar_picture.h"
#include "pipeline/ops/cuda/launcher.h"

namespace millrace::pipeline {

namespace {

constexpr int kColours = 3;

at::Tensor OnCpu(const at::Tensor& bytes, int channels) {
  at::Tensor made = at::empty({bytes.size(0), channels, bytes.size(1), bytes.size(2)});
  const auto size = static_cast<std::size_t>(bytes.numel());
  const std::span<const std::uint8_t> rgb(bytes.const_data_ptr<std::uint8_t>(), size);
  const std::size_t of_picture = size / bytes.size(0);
  auto* out = made.mutable_data_ptr<float>();
  for (std::size_t begin = 0; begin < size; begin += of_picture) {
    out = WritePlanar(rgb.subspan(begin, of_picture), channels, out);
  }
  return made;
}

at::Tensor ByOwnKernel(const at::Tensor& bytes, int channels) {
  const std::int64_t pixels = bytes.size(1) * bytes.size(2);
  at::Tensor made = at::empty({bytes.size(0), channels, bytes.size(1), bytes.size(2)},
                              bytes.options().dtype(at::kFloat));
  gpu::Launch(gpu::PlanesBody{.rgb = bytes.const_data_ptr<std::uint8_t>(),
                              .planes = made.mutable_data_ptr<float>(),
                              .channels = channels,
                              .pixels = gpu::Narrow(pixels)},
              bytes.size(0) * pixels, bytes.device());
  return made;
}

at::Tensor ByOperators(const at::Tensor& bytes, int channels) {
  const at::Tensor planes = bytes.to(at::kFloat).permute({0, 3, 1, 2});
  if (channels == kColours) return planes.contiguous() / 255;
  const auto colour = [&](int i) { return planes.narrow(1, i, 1); };
  return (0.299 * colour(0) + 0.587 * colour(1) + 0.114 * colour(2)) / 255;
}

}  // namespace

at::Tensor BytesOf(const Sample& sample, int width, int height, bool pinned) {
  const std::int64_t pictures = sample.before.empty() ? 2 : 3;
  at::Tensor made = at::empty({pictures, height, width, kColours},
                              at::TensorOptions(at::kByte).pinned_memory(pinned));
  auto* out = made.mutable_data_ptr<std::uint8_t>();
  for (const auto rgb : {sample.before, sample.previous, sample.current}) {
    out = std::ranges::copy(rgb, out).out;
  }
  return made;
}

at::Tensor PlanesOf(const at::Tensor& bytes, int channels) {
  if (bytes.device().is_cpu()) return OnCpu(bytes, channels);
  if (gpu::HasKernels(bytes.device(), bytes.numel())) return ByOwnKernel(bytes, channels);
  return ByOperators(bytes, channels);
}

at::Tensor PixelByPixel(const at::Tensor& flow) {
  return flow.detach().squeeze(0).permute({1, 2, 0}).contiguous();
}

std::vector<std::vector<float>> OnHost(const Tensors& tensors) {
  std::vector<std::vector<float>> values;
  for (const at::Tensor& tensor : ToHost(tensors)) {
    const float* data = tensor.const_data_ptr<float>();
    values.emplace_back(data, data + tensor.numel());
  }
  return values;
}

}  // namespace millrace::pipeline
