// Converts a picture's bytes to the numbers that networks read. Free of LibTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::pipeline {

/// Converts `rgb` (red, green, blue bytes, rows first) to 0..1. With `channels` 1: grey, by the
/// luma of ITU-R BT.601. With 3: all red, then all green, then all blue. Writes channels *
/// rgb.size() / 3 numbers and returns the end of the output. REQUIRES: 1 or 3 channels, whole
/// pixels.
float* WritePlanar(std::span<const std::uint8_t> rgb, int channels, float* out);

/// WritePlanar() into a new vector.
[[nodiscard]] std::vector<float> PlanarOf(std::span<const std::uint8_t> rgb, int channels);

}  // namespace millrace::pipeline
