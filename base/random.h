// Random numbers that depend only on the seed, and are the same on every machine. They use no
// function of a mathematical library whose last bit may differ.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <random>

namespace millrace::pipeline {

/// A random number generator. Not thread-safe.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// Uniform in [low, high).
  double Uniform(double low, double high) {
    constexpr int kBits = 53;  // The precision of a double.
    return low + (high - low) * std::ldexp(static_cast<double>(engine_() >> (64 - kBits)), -kBits);
  }

  /// An approximately normal number: the sum of four uniform numbers, scaled to mean 0 and standard
  /// deviation 1. Its absolute value is at most 3.47.
  double Bell() {
    // For four numbers in 0..65535: the mean of their sum, and the inverse of its standard
    // deviation.
    constexpr double kMean = 2 * 65535.0;
    constexpr double kScale = 1 / 37837.22;
    const std::uint64_t bits = engine_();
    const std::uint64_t sum =
        (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    return (static_cast<double>(sum) - kMean) * kScale;
  }

  /// A point with two independent Bell() coordinates.
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
