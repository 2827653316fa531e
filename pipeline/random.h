// Random numbers that are the same for the same seed, whatever else the program draws.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace millrace::pipeline {

/// Draws numbers. Not thread-safe.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// In low (included) .. high (excluded).
  double Uniform(double low, double high) {
    constexpr int kBits = 53;  // What a double can hold.
    return low + (high - low) * std::ldexp(static_cast<double>(engine_() >> (64 - kBits)), -kBits);
  }

  /// With mean 0 and standard deviation 1, by Box and Muller.
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(1 - Uniform(0, 1)));
    return radius * std::cos(Uniform(0, 2 * std::numbers::pi));
  }

  bool Chance(double probability) { return Uniform(0, 1) < probability; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace millrace::pipeline
