// Clips that a test makes itself, and pictures and flows drawn at random.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/evaluation/clip.h"

namespace millrace::pipeline {

inline std::vector<std::uint8_t> RandomBytes(int width, int height, std::mt19937& random) {
  std::vector<std::uint8_t> rgb(std::size_t{3} * width * height);
  for (std::uint8_t& byte : rgb) byte = static_cast<std::uint8_t>(random() % 256);
  return rgb;
}

inline Rgb RandomPicture(int width, int height, std::mt19937& random) {
  return std::make_shared<const std::vector<std::uint8_t>>(RandomBytes(width, height, random));
}

inline std::vector<float> RandomFlow(int width, int height, float spread, std::mt19937& random) {
  std::normal_distribution<float> value(0, spread);
  std::vector<float> flow(std::size_t{2} * width * height);
  for (float& side : flow) side = value(random);
  return flow;
}

/// The same vector everywhere.
inline std::vector<float> ConstantFlow(int width, int height, float dx, float dy) {
  std::vector<float> flow;
  for (int i = 0; i < width * height; ++i) flow.insert(flow.end(), {dx, dy});
  return flow;
}

/// Pairs of random pictures with a random true motion, one every `every` of the stream.
inline std::vector<ClipPair> RandomPairs(int pairs, int width, int height,
                                         std::chrono::nanoseconds every, std::mt19937& random) {
  std::vector<ClipPair> made;
  Rgb previous = RandomPicture(width, height, random);
  for (int i = 0; i < pairs; ++i) {
    const Rgb current = RandomPicture(width, height, random);
    TrueFlow truth{.width = width, .height = height, .flow = RandomFlow(width, height, 2, random)};
    made.push_back({.number = i,
                    .stream_time = every * (i + 1),
                    .previous = std::exchange(previous, current),
                    .current = current,
                    .truth = std::make_shared<const TrueFlow>(std::move(truth))});
  }
  return made;
}

/// A clip of `pairs`, which fails instead of giving pair `fails_at`.
inline ClipSource MadeClip(std::string name, int width, int height, std::vector<ClipPair> pairs,
                           std::optional<std::size_t> fails_at = {}) {
  class Reading final : public Clip {
   public:
    Reading(std::vector<ClipPair> pairs, std::optional<std::size_t> fails_at)
        : pairs_(std::move(pairs)), fails_at_(fails_at) {}

    absl::StatusOr<std::optional<ClipPair>> Next() override {
      if (next_ == fails_at_) return absl::DataLossError("the clip is torn");
      if (next_ == pairs_.size()) return std::nullopt;
      return pairs_[next_++];
    }

   private:
    const std::vector<ClipPair> pairs_;
    const std::optional<std::size_t> fails_at_;
    std::size_t next_ = 0;
  };
  return {.name = std::move(name),
          .width = width,
          .height = height,
          .open = [pairs = std::move(pairs), fails_at]() -> absl::StatusOr<std::unique_ptr<Clip>> {
            return std::make_unique<Reading>(pairs, fails_at);
          }};
}

}  // namespace millrace::pipeline
