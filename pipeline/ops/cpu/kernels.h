// The inner loops of the flow network's operators, on plain memory, compiled for several kinds of
// processor: LibTorch's own operators spend more time around such small maps than on them.
//
// Maps lie with the channels of a pixel side by side. Each loop writes only what it is told to, and
// in an order of its own: threads that share out rows, or parts of weights, change no value. This
// header knows no LibTorch, and a file that includes it for one kind of processor must include
// nothing with functions of its own, lest the linker keep a copy that other processors cannot run.
#pragma once

#include <cstdint>

namespace millrace::pipeline::kernels {

/// Rows of weights and gradients are padded with zeros to a multiple of so many floats: no vector
/// of any processor is longer.
inline constexpr std::int64_t kPadding = 16;

[[nodiscard]] constexpr std::int64_t Padded(std::int64_t floats) {
  return (floats + kPadding - 1) / kPadding * kPadding;
}

/// Of a window, and its places.
inline constexpr int kSide = 3;
inline constexpr int kTaps = kSide * kSide;

/// A pixel has no more, in any map.
inline constexpr std::int64_t kMostChannels = 1024;

/// Places of the weights in the window, for a whole row of results: `span` of them, side by side.
struct Tap {
  /// The row of the source, and their weights: [span][source channels][padded results].
  const float* row = nullptr;
  const float* weights = nullptr;
  /// Result i reads `span` pixels from first + i * step on, which are zero outside the row.
  std::int64_t first = 0;
  std::int64_t step = 1;
  /// 1, or where pixels lie without gaps also kSide.
  std::int64_t span = 1;
};

/// A row of pixels, each a weighted sum of pixels of other rows:
///
///   result[i] = leaky(bias + sum over taps, and places p of them, of
///                     weights[p]^T row[first + i * step + p])
struct GatheredRow {
  Tap taps[kTaps] = {};
  int tap_count = 0;
  std::int64_t source_width = 0;
  std::int64_t source_channels = 0;
  /// Floats from a pixel to the next.
  std::int64_t source_stride = 0;
  /// `channels` floats each, `stride` apart.
  float* results = nullptr;
  std::int64_t count = 0;
  std::int64_t channels = 0;
  std::int64_t stride = 0;
  /// Padded; nullptr: none.
  const float* bias = nullptr;
  /// By which a negative result is multiplied.
  float slope = 1;
};

/// What a row of gradients adds to a part of one tap's weights:
///
///   sums[c][k] += sum over i of pixels[i * step + c] gradients[i][k]
struct WeighedRow {
  const float* pixels = nullptr;
  std::int64_t step = 0;
  std::int64_t pixel_channels = 0;
  const float* gradients = nullptr;
  std::int64_t gradient_channels = 0;  // Padded.
  std::int64_t count = 0;
  float* sums = nullptr;
};

/// A row of pixels through the leaky ReLU backwards, padded, and what it adds to the bias'.
struct MaskedRow {
  const float* gradients = nullptr;
  const float* results = nullptr;  // What the ReLU made.
  std::int64_t count = 0;
  std::int64_t channels = 0;
  float slope = 1;
  float* masked = nullptr;
  float* bias = nullptr;  // `channels` long.
};

/// value -= rate gradient / (sqrt(square) + eps), square = decay square + fresh gradient^2,
/// where weight_decay value is added to the gradient first.
template <typename T>
struct RmsPropStep {
  T* values = nullptr;
  const T* gradients = nullptr;
  T* squares = nullptr;
  std::int64_t count = 0;
  T decay = 0;
  T fresh = 0;
  T rate = 0;
  T eps = 0;
  T weight_decay = 0;
};

/// Below this squared length a pixel says nothing, and is kept from being blown up.
inline constexpr float kLeastSquaredLength = 1e-6F;

/// Pixels scaled to length one: normal = inverse features, padded.
struct NormalizedRow {
  const float* features = nullptr;
  std::int64_t count = 0;
  std::int64_t channels = 0;
  float* normal = nullptr;
  float* inverse = nullptr;
};

/// A row of a map as seen through a flow, bilinear, zero beyond the map. A match further out than
/// half a map beside it is held there; one that is not finite sees nothing.
struct WarpedRow {
  const float* map = nullptr;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::int64_t y = 0;
  const float* flow = nullptr;  // Of the row: (dx, dy) of each pixel.
  float* seen = nullptr;
};

/// results[x * stride + (dy + radius) (2 radius + 1) + dx + radius]
///   = sum over c of first[c][x] second[y + dy][c][x + dx + radius]
struct ComparedRow {
  const float* first = nullptr;  // [channels][first_width], a multiple of kPadding.
  std::int64_t first_width = 0;
  /// [height][channels][second_width]: `radius` zeros on the left, and zeros on the right up to
  /// kPadding + 2 radius + 8 pixels beyond the row.
  const float* second = nullptr;
  std::int64_t second_width = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::int64_t y = 0;
  int radius = 0;
  float* results = nullptr;
  std::int64_t stride = 0;
};

/// The gradients of comparisons, `stride` apart, back to row y of the first map, or, `opposite`, of
/// the second: results[x] += sum over the neighbours of factor(x, neighbour) map[neighbour].
struct SpreadRow {
  const float* factors = nullptr;
  std::int64_t stride = 0;
  const float* map = nullptr;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;  // Padded.
  std::int64_t y = 0;
  int radius = 0;
  bool opposite = false;
  float* results = nullptr;
};

struct Kernels {
  void (*gather)(const GatheredRow&);
  void (*weigh)(const WeighedRow&);
  void (*mask)(const MaskedRow&);
  void (*rmsprop)(const RmsPropStep<float>&);
  void (*rmsprop_double)(const RmsPropStep<double>&);
  void (*normalize)(const NormalizedRow&);
  void (*normalize_back)(const NormalizedRow&, const float* gradients, float* results);
  void (*warp)(const WarpedRow&);
  void (*warp_back)(const WarpedRow&, const float* gradients, float* to_map, float* to_flow);
  void (*compare)(const ComparedRow&);
  void (*spread)(const SpreadRow&);
  /// Whether every value lies between -2^exponent and 2^exponent; 128: whether it is finite.
  bool (*all_below)(const float* values, std::int64_t count, int exponent);
};

/// The best that this machine can run.
[[nodiscard]] const Kernels& Best();

/// For each kind of processor there is.
[[nodiscard]] const Kernels& Plain();
#if defined(__x86_64__)
[[nodiscard]] const Kernels& Avx2();
[[nodiscard]] const Kernels& Avx512();
#endif

}  // namespace millrace::pipeline::kernels
