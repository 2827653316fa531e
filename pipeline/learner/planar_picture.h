// A picture's bytes as networks read them. Free of LibTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::pipeline {

/// `rgb` (red, green, blue bytes, rows first) in 0..1: with `channels` 1 grey, by the luma of ITU-R
/// BT.601; with 3 all red, then all green, then all blue. Writes channels * rgb.size() / 3 numbers
/// and returns the place behind them. REQUIRES: 1 or 3 channels, whole pixels.
float* WritePlanar(std::span<const std::uint8_t> rgb, int channels, float* out);

/// The same, by themselves.
[[nodiscard]] std::vector<float> PlanarOf(std::span<const std::uint8_t> rgb, int channels);

}  // namespace millrace::pipeline
