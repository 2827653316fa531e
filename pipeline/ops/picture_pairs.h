// Which pairs of a sample's pictures a network finds the flow of. Pictures lie one after the other
// in time, [pictures, channels, height, width]; each pair is a row of what is made of them.
#pragma once

#include <array>
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

enum class PicturePairs {
  kOne,       ///< Of two pictures, from the first to the second.
  kBothWays,  ///< Of two, from the first to the second, and back.
  kInTurn,    ///< Of three, from the first to the second, from the second to the third.
};

inline constexpr std::array kAllPairs = {PicturePairs::kOne, PicturePairs::kBothWays,
                                         PicturePairs::kInTurn};

[[nodiscard]] constexpr std::int64_t PairCount(PicturePairs pairs) {
  return pairs == PicturePairs::kOne ? 1 : 2;
}

[[nodiscard]] constexpr std::int64_t PictureCount(PicturePairs pairs) {
  return pairs == PicturePairs::kInTurn ? 3 : 2;
}

/// The picture that a pair's flow leads to; it starts from the picture of the pair's own number.
[[nodiscard]] constexpr std::int64_t ToPicture(PicturePairs pairs, std::int64_t pair) {
  return pairs == PicturePairs::kInTurn ? pair + 1 : 1 - pair;
}

/// The pictures that the pairs' flows start from, and those that they lead to, a row for each pair.
[[nodiscard]] inline at::Tensor FromPictures(const at::Tensor& pictures, PicturePairs pairs) {
  return pictures.narrow(0, 0, PairCount(pairs));
}
[[nodiscard]] inline at::Tensor ToPictures(const at::Tensor& pictures, PicturePairs pairs) {
  if (pairs == PicturePairs::kBothWays) return pictures.flip(0);
  return pictures.narrow(0, 1, PairCount(pairs));
}

}  // namespace millrace::pipeline
