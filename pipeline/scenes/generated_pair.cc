#include "pipeline/scenes/generated_pair.h"

#include <algorithm>

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

namespace millrace::pipeline {
namespace {

using Kind = GeneratedPair::Kind;

std::vector<std::uint8_t> RgbOf(const std::vector<std::uint8_t>& picture) {
  std::vector<std::uint8_t> rgb(3 * picture.size());
  std::uint8_t* out = rgb.data();
  for (const std::uint8_t grey : picture) out = std::fill_n(out, 3, grey);
  return rgb;
}

}  // namespace

GeneratedPair PairOf(Kind kind, const std::vector<std::uint8_t>& previous,
                     const std::vector<std::uint8_t>& current, int width) {
  const auto height = static_cast<std::int64_t>(previous.size()) / width;
  const std::vector<std::int64_t> size = {1, 1, height, width};
  GeneratedPair pair{
      .kind = kind,
      .pictures = at::empty({2, 1, height, width}, at::kFloat),
      .flow = at::zeros({1, 2, height, width}, at::kFloat),
      .visible = kind == Kind::kPause ? at::ones(size, at::kByte) : at::zeros(size, at::kByte),
      .previous_rgb = RgbOf(previous),
      .current_rgb = RgbOf(current)};
  float* grey = pair.pictures.mutable_data_ptr<float>();
  for (const auto* picture : {&previous, &current}) {
    for (const std::uint8_t value : *picture) *grey++ = static_cast<float>(value) / 255;
  }
  return pair;
}

}  // namespace millrace::pipeline
