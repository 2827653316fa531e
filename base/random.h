// Random numbers that are the same for the same seed, whatever else the program draws, and on every
// machine: they need no function of a mathematical library, whose last bit may differ.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
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

  /// With mean 0 and standard deviation 1, near enough to a normal distribution: the sum of four
  /// uniform numbers. Never beyond 3.47.
  double Bell() {
    // Of four numbers in 0..65535: their mean, and one over their standard deviation.
    constexpr double kMean = 2 * 65535.0;
    constexpr double kScale = 1 / 37837.22;
    const std::uint64_t bits = engine_();
    const std::uint64_t sum =
        (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    return (static_cast<double>(sum) - kMean) * kScale;
  }

  /// A point of which each coordinate is as Bell().
  std::complex<double> BellPoint() {
    const double x = Bell();
    return {x, Bell()};
  }

  /// A point at distance 1 from 0.
  std::complex<double> Direction() {
    while (true) {
      const double x = Uniform(-1, 1);
      const double y = Uniform(-1, 1);
      const double square = x * x + y * y;
      if (square > 1 || square < 0.01) continue;
      const double length = std::sqrt(square);
      return {x / length, y / length};
    }
  }

  bool Chance(double probability) { return Uniform(0, 1) < probability; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace millrace::pipeline
