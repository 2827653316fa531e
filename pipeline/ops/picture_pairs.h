// The pairs of pictures of a sample for which a network computes the flow. Pictures are ordered by
// time, [pictures, channels, height, width]; each pair is one row of a result.
#pragma once

#include <array>
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

enum class PicturePairs {
  kOne,       ///< Two pictures, from the first to the second.
  kBothWays,  ///< Two pictures, from the first to the second, and back.
  kInTurn,    ///< Three pictures, first to second, second to third.
};

inline constexpr std::array kAllPairs = {PicturePairs::kOne, PicturePairs::kBothWays,
                                         PicturePairs::kInTurn};

[[nodiscard]] constexpr std::int64_t PairCount(PicturePairs pairs) {
  return pairs == PicturePairs::kOne ? 1 : 2;
}

[[nodiscard]] constexpr std::int64_t PictureCount(PicturePairs pairs) {
  return pairs == PicturePairs::kInTurn ? 3 : 2;
}

/// The picture that a pair's flow leads to. The flow starts from the picture of the pair's number.
[[nodiscard]] constexpr std::int64_t ToPicture(PicturePairs pairs, std::int64_t pair) {
  return pairs == PicturePairs::kInTurn ? pair + 1 : 1 - pair;
}

/// The pictures that the flows start from, and the pictures that they lead to; one row per pair.
[[nodiscard]] inline at::Tensor FromPictures(const at::Tensor& pictures, PicturePairs pairs) {
  return pictures.narrow(0, 0, PairCount(pairs));
}
[[nodiscard]] inline at::Tensor ToPictures(const at::Tensor& pictures, PicturePairs pairs) {
  if (pairs == PicturePairs::kBothWays) return pictures.flip(0);
  return pictures.narrow(0, 1, PairCount(pairs));
}

}  // namespace millrace::pipeline
