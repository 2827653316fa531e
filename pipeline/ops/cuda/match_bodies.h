// The kernels of Match() (match.h), forward and backward. A sample's flow starts from the picture
// with the sample's number.
#pragma once

#include "pipeline/ops/cuda/body.h"

// NOLINTBEGIN(bugprone-implicit-widening-of-multiplication-result): an Index reaches every element.
namespace millrace::pipeline::gpu {

struct MatchShape {
  MapShape map = {};
  Index samples = 0;
  bool in_turn = false;  // Three pictures; otherwise two, in both directions.
  int radius = 0;
  float gain = 1;
  bool has_flow = false;

  /// The picture that a sample's flow leads to; see ToPicture() (picture_pairs.h).
  [[nodiscard]] MILLRACE_BODY Index To(Index sample) const {
    return in_turn ? sample + 1 : 1 - sample;
  }
  [[nodiscard]] MILLRACE_BODY Index side() const { return 2 * radius + 1; }
  [[nodiscard]] MILLRACE_BODY Index displacements() const { return side() * side(); }
  /// Channels of the result.
  [[nodiscard]] MILLRACE_BODY Index channels() const {
    return displacements() + map.channels + (has_flow ? 2 : 0);
  }
};

/// Scales a pixel's features to length one. One element is a pixel, over all pictures.
struct NormalizeBody {
  MapShape shape = {};
  const float* features = nullptr;
  float* normal = nullptr;
  float* inverse = nullptr;  // [pictures][pixels].
  float min_square = 0;      // Added to the squared length, so that weak features stay small.

  MILLRACE_BODY void operator()(Index i) const {
    const Index at = shape.At(i);
    const Index pixels = shape.pixels();
    float square = min_square;
    for (Index c = 0; c < shape.channels; ++c) {
      square += features[at + c * pixels] * features[at + c * pixels];
    }
    inverse[i] = 1 / std::sqrt(square);
    for (Index c = 0; c < shape.channels; ++c) {
      normal[at + c * pixels] = features[at + c * pixels] * inverse[i];
    }
  }
};

/// The target of a flow between four pixels.
struct Landing {
  Index left = 0;
  Index top = 0;
  float right = 0;  // Weights of the right and lower pixels.
  float below = 0;
  // The derivative of the target by the flow: 0 where the target is clamped, otherwise 1.
  float moves_x = 0;
  float moves_y = 0;
  bool near = false;  // One of the four pixels may be in the map. False for a target that is NaN.
};

/// Clamps a target to half a side beyond the map.
MILLRACE_BODY inline float HeldAt(float at, Index side, float& moves) {
  const float half = 0.5F * static_cast<float>(side - 1);
  moves = -half <= at && at <= 3 * half ? 1.0F : 0.0F;
  if (at < -half) return -half;
  return at > 3 * half ? 3 * half : at;
}

MILLRACE_BODY inline Landing LandingOf(const MapShape& map, const float* flow, Index pixel) {
  Landing landing;
  const Index column = pixel % map.width;
  const Index row = pixel / map.width;
  const float x = HeldAt(static_cast<float>(column) + flow[pixel], map.width, landing.moves_x);
  const float y =
      HeldAt(static_cast<float>(row) + flow[map.pixels() + pixel], map.height, landing.moves_y);
  landing.near =
      x > -1 && x < static_cast<float>(map.width) && y > -1 && y < static_cast<float>(map.height);
  if (!landing.near) return landing;
  landing.left = static_cast<Index>(std::floor(x));
  landing.top = static_cast<Index>(std::floor(y));
  landing.right = x - static_cast<float>(landing.left);
  landing.below = y - static_cast<float>(landing.top);
  return landing;
}

/// One of the four pixels around a landing.
struct Corner {
  Index pixel = 0;
  float share = 0;  // Weight; 0 beyond the map.
};

MILLRACE_BODY inline Corner CornerOf(const MapShape& map, const Landing& landing, int number) {
  const int right = number % 2;
  const int below = number / 2;
  const Index x = landing.left + right;
  const Index y = landing.top + below;
  if (!map.Has(y, x)) return {};
  return {y * map.width + x, (right != 0 ? landing.right : 1 - landing.right) *
                                 (below != 0 ? landing.below : 1 - landing.below)};
}

/// Warps the other picture by the flow: bilinear, zero beyond the picture. One element is a pixel,
/// over all samples.
struct SeeBody {
  MatchShape shape = {};
  const float* normal = nullptr;
  const float* flow = nullptr;  // [samples][2][pixels].
  float* seen = nullptr;        // [samples][channels][pixels].

  MILLRACE_BODY void operator()(Index i) const {
    const MapShape& map = shape.map;
    const Index sample = i / map.pixels();
    const Landing landing = LandingOf(map, flow + sample * 2 * map.pixels(), i % map.pixels());
    const float* const other = normal + shape.To(sample) * map.size();
    float* const to = seen + map.At(i);
    for (Index c = 0; c < map.channels; ++c) to[c * map.pixels()] = 0;
    for (int number = 0; landing.near && number < 4; ++number) {
      const Corner corner = CornerOf(map, landing, number);
      if (corner.share == 0) continue;
      for (Index c = 0; c < map.channels; ++c) {
        to[c * map.pixels()] += corner.share * other[c * map.pixels() + corner.pixel];
      }
    }
  }
};

/// Compares a pixel with a neighbour, or copies a feature or flow value. One element is a number of
/// the result.
struct CompareBody {
  MatchShape shape = {};
  const float* features = nullptr;
  const float* normal = nullptr;
  const float* flow = nullptr;
  const float* seen = nullptr;  // Of the other picture, per sample.
  float* result = nullptr;

  MILLRACE_BODY void operator()(Index i) const {
    const Index pixels = shape.map.pixels();
    const Index pixel = i % pixels;
    const Index channel = i / pixels % shape.channels();
    const Index sample = i / pixels / shape.channels();
    const Index beyond = channel - shape.displacements();
    if (beyond < 0) {
      result[i] = Product(sample, pixel, channel);
    } else if (beyond < shape.map.channels) {
      result[i] = features[sample * shape.map.size() + beyond * pixels + pixel];
    } else {
      result[i] = flow[(2 * sample + beyond - shape.map.channels) * pixels + pixel];
    }
  }

 private:
  [[nodiscard]] MILLRACE_BODY float Product(Index sample, Index pixel, Index displacement) const {
    const MapShape& map = shape.map;
    const Index y = pixel / map.width + displacement / shape.side() - shape.radius;
    const Index x = pixel % map.width + displacement % shape.side() - shape.radius;
    if (!map.Has(y, x)) return 0;
    const float* const one = normal + sample * map.size() + pixel;
    const float* const other = seen + sample * map.size() + y * map.width + x;
    float sum = 0;
    for (Index c = 0; c < map.channels; ++c) {
      sum += one[c * map.pixels()] * other[c * map.pixels()];
    }
    return shape.gain * sum;
  }
};

/// The comparisons' gradients to both maps. One element is a number of a map, over all samples.
struct SpreadBody {
  MatchShape shape = {};
  const float* gradient = nullptr;  // Of the result.
  const float* normal = nullptr;
  const float* seen = nullptr;
  float* to_normal = nullptr;  // [pictures][channels][pixels].
  float* to_seen = nullptr;    // [samples][channels][pixels].

  MILLRACE_BODY void operator()(Index i) const {
    const MapShape& map = shape.map;
    const Index pixel = i % map.pixels();
    const Index of_map = i - pixel;  // The channel's first pixel.
    const Index x = pixel % map.width;
    const Index y = pixel / map.width;
    const float* const factors = gradient + i / map.size() * shape.channels() * map.pixels();
    float from_seen = 0;
    float from_normal = 0;
    for (Index d = 0; d < shape.displacements(); ++d) {
      const Index down = d / shape.side() - shape.radius;
      const Index right = d % shape.side() - shape.radius;
      const float* const of_displacement = factors + d * map.pixels();
      if (map.Has(y + down, x + right)) {
        from_seen += of_displacement[pixel] * seen[of_map + (y + down) * map.width + x + right];
      }
      if (map.Has(y - down, x - right)) {
        const Index other = (y - down) * map.width + x - right;
        from_normal += of_displacement[other] * normal[of_map + other];
      }
    }
    to_normal[i] = shape.gain * from_seen;
    to_seen[i] = shape.gain * from_normal;
  }
};

/// The gradient of `seen` to the other picture and the flow. One element is a pixel, over all
/// samples.
struct SeeBackBody {
  MatchShape shape = {};
  const float* gradient = nullptr;  // Of the result, which contains the flow unchanged.
  const float* normal = nullptr;
  const float* flow = nullptr;
  const float* to_seen = nullptr;
  float* to_normal = nullptr;
  float* to_flow = nullptr;

  MILLRACE_BODY void operator()(Index i) const {
    const MapShape& map = shape.map;
    const Index pixels = map.pixels();
    const Index sample = i / pixels;
    const Index pixel = i % pixels;
    const float* const of_seen = to_seen + map.At(i);
    float* const to = to_normal + shape.To(sample) * map.size();
    if (!shape.has_flow) {
      for (Index c = 0; c < map.channels; ++c) {
        AddTo(to + c * pixels + pixel, of_seen[c * pixels]);
      }
      return;
    }
    const Landing landing = LandingOf(map, flow + sample * 2 * pixels, pixel);
    const float* const other = normal + shape.To(sample) * map.size();
    float along[4] = {0, 0, 0, 0};
    for (int number = 0; landing.near && number < 4; ++number) {
      const Corner corner = CornerOf(map, landing, number);
      if (!IsInside(landing, number)) continue;
      for (Index c = 0; c < map.channels; ++c) {
        const float factor = of_seen[c * pixels];
        AddTo(to + c * pixels + corner.pixel, factor * corner.share);
        along[number] += factor * other[c * pixels + corner.pixel];
      }
    }
    const Index own = 2 * sample * pixels + pixel;
    const Index passed =
        ((sample + 1) * shape.channels() - 2) * pixels + pixel;  // The last two channels.
    to_flow[own] =
        gradient[passed] + landing.moves_x * ((along[1] - along[0]) * (1 - landing.below) +
                                              (along[3] - along[2]) * landing.below);
    to_flow[own + pixels] =
        gradient[passed + pixels] + landing.moves_y * ((along[2] - along[0]) * (1 - landing.right) +
                                                       (along[3] - along[1]) * landing.right);
  }

 private:
  [[nodiscard]] MILLRACE_BODY bool IsInside(const Landing& landing, int number) const {
    return shape.map.Has(landing.top + number / 2, landing.left + number % 2);
  }
};

/// The gradient to the features. One element is a pixel, over all pictures.
struct NormalizeBackBody {
  MatchShape shape = {};
  const float* gradient = nullptr;  // Of the result, which contains the features unchanged.
  const float* normal = nullptr;
  const float* inverse = nullptr;
  const float* to_normal = nullptr;
  float* to_features = nullptr;

  MILLRACE_BODY void operator()(Index i) const {
    const Index pixels = shape.map.pixels();
    const Index at = shape.map.At(i);
    const Index picture = i / pixels;
    const float* const passed =
        gradient + (picture * shape.channels() + shape.displacements()) * pixels + i % pixels;
    float along = 0;
    for (Index c = 0; c < shape.map.channels; ++c) {
      along += to_normal[at + c * pixels] * normal[at + c * pixels];
    }
    for (Index c = 0; c < shape.map.channels; ++c) {
      const float back =
          inverse[i] * (to_normal[at + c * pixels] - normal[at + c * pixels] * along);
      to_features[at + c * pixels] = back + (picture < shape.samples ? passed[c * pixels] : 0.0F);
    }
  }
};

}  // namespace millrace::pipeline::gpu
// NOLINTEND(bugprone-implicit-widening-of-multiplication-result)
