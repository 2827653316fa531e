// The inner loops of the flow network's operators on plain memory, compiled for several kinds of
// processors. On maps this small, LibTorch's operators spend more time around the work than on it.
//
// Maps are channels-last. Each loop writes only its own output, in a fixed order. So threads that
// share out rows, or parts of weights, change no value. This header includes no LibTorch. A file
// that includes it for one kind of processor must include nothing else with functions. The linker
// could keep a copy of these functions that other processors cannot run.
#pragma once

#include <cstdint>

namespace millrace::pipeline::kernels {

/// Rows of weights and gradients are padded with zeros to a multiple of this number of floats: the
/// longest vector of any processor.
inline constexpr std::int64_t kPadding = 16;

[[nodiscard]] constexpr std::int64_t PaddedCount(std::int64_t floats) {
  return (floats + kPadding - 1) / kPadding * kPadding;
}

/// The side of a window, and its positions.
inline constexpr int kSide = 3;
inline constexpr int kTaps = kSide * kSide;

/// The maximum number of channels in any map.
inline constexpr std::int64_t kMaxChannels = 1024;

/// A run of `span` adjacent window positions, for a whole row of results.
struct Tap {
  /// The source row, and the weights: [span][source channels][padded results].
  const float* row = nullptr;
  const float* weights = nullptr;
  /// Result i reads `span` pixels from first + i * step on; pixels outside the row are zero.
  std::int64_t first = 0;
  std::int64_t step = 1;
  /// 1, or kSide if pixels lie without gaps.
  std::int64_t span = 1;
};

/// A row of pixels, each a weighted sum of pixels of other rows. p runs over a tap's positions:
///
///   result[i] = leaky(bias + sum over taps and p of
///                     weights[p]^T row[first + i * step + p])
struct GatheredRow {
  Tap taps[kTaps] = {};
  int tap_count = 0;
  std::int64_t source_width = 0;
  std::int64_t source_channels = 0;
  /// Floats between successive pixels.
  std::int64_t source_stride = 0;
  /// `channels` floats per pixel, `stride` apart.
  float* results = nullptr;
  std::int64_t count = 0;
  std::int64_t channels = 0;
  std::int64_t stride = 0;
  /// Padded; nullptr: no bias.
  const float* bias = nullptr;
  /// The factor for negative results.
  float slope = 1;
};

/// The contribution of a row of gradients to a part of one tap's weights:
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

/// A row of gradients through the leaky ReLU backward, padded; also their sum for the bias.
struct MaskedRow {
  const float* gradients = nullptr;
  const float* results = nullptr;  // The ReLU's output.
  std::int64_t count = 0;
  std::int64_t channels = 0;
  float slope = 1;
  float* masked = nullptr;
  float* bias = nullptr;  // `channels` long.
};

/// value -= rate update, update = gradient / (sqrt(square) + eps),
/// square = decay square + fresh gradient^2. The gradient first gets weight_decay value added. If
/// `clip` is above 0, an update whose root mean square is larger is scaled down to it.
template <typename T>
struct RmsPropStep {
  T* values = nullptr;
  T* gradients = nullptr;  // The step may overwrite them.
  T* squares = nullptr;
  std::int64_t count = 0;
  T decay = 0;
  T fresh = 0;
  T rate = 0;
  T eps = 0;
  T weight_decay = 0;
  T clip = 0;
};

/// Added to a pixel's squared length, so that weak features are not scaled up.
inline constexpr float kMinSquaredLength = 1e-6F;

/// Pixels scaled to length one: normal = inverse features, padded.
struct NormalizedRow {
  const float* features = nullptr;
  std::int64_t count = 0;
  std::int64_t channels = 0;
  float* normal = nullptr;
  float* inverse = nullptr;
};

/// A row of a map warped by a flow: bilinear, zero beyond the map. A target further out than half a
/// map beside it is clamped there; a target that is not finite reads zero.
struct WarpedRow {
  const float* map = nullptr;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::int64_t y = 0;
  const float* flow = nullptr;  // (dx, dy) of each pixel of the row.
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

/// The gradients of comparisons, `stride` apart, back to row y of the first map (`opposite`: of the
/// second). The sum: results[x] += sum over the neighbours of factor(x, neighbour) map[neighbour].
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

/// The flows that a pixel's new flow is mixed of: its own, and eight at each of two distances.
inline constexpr int kBlendTaps = 17;

/// A row of cells of 2x2 pixels. Pixel p of cell i (0, 1: above, 2, 3: below) gets
///
///   sum over k of softmax(choices)_k flow[offsets[k]] + correction
///
/// with choices and, last, the correction in choices[i * stride + 4 k + p].
struct BlendedRow {
  const float* choices = nullptr;
  std::int64_t stride = 0;
  std::int64_t count = 0;
  /// The upper left pixel of the first cell in a plane of all dx; the plane of all dy is
  /// `flow_plane` floats behind it. Has margins for all offsets.
  const float* flow = nullptr;
  std::int64_t flow_row = 0;
  std::int64_t flow_plane = 0;
  std::int64_t offsets[kBlendTaps] = {};
  /// The same pixel of the results; on the way back, of their gradients, which are only read.
  float* results = nullptr;
  std::int64_t result_row = 0;
  std::int64_t result_plane = 0;
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
  void (*blend)(const BlendedRow&);
  /// Writes the gradients of all choices and corrections, laid out as these.
  void (*blend_back)(const BlendedRow&, float* gradients);
  /// Whether all values lie between -2^exponent and 2^exponent; 128: whether all are finite.
  bool (*all_below)(const float* values, std::int64_t count, int exponent);
};

/// The best kernels that this machine can run.
[[nodiscard]] const Kernels& Best();

/// The kernels for each kind of processor.
[[nodiscard]] const Kernels& Plain();
#if defined(__x86_64__)
[[nodiscard]] const Kernels& Avx2();
[[nodiscard]] const Kernels& Avx512();
#endif

}  // namespace millrace::pipeline::kernels
