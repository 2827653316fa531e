// The loops that compare every pixel with its neighbours in another map.

void Normalize(const NormalizedRow& row) {
  const std::int64_t padded = PaddedCount(row.channels);
  for (std::int64_t i = 0; i < row.count; ++i) {
    const float* const from = row.features + i * row.channels;
    float* const __restrict to = row.normal + i * padded;
    float square = 0;
    for (std::int64_t c = 0; c < row.channels; ++c) square += from[c] * from[c];
    const float inverse = 1 / __builtin_sqrtf(square + kMinSquaredLength);
    for (std::int64_t c = 0; c < row.channels; ++c) to[c] = from[c] * inverse;
    for (std::int64_t c = row.channels; c < padded; ++c) to[c] = 0;
    row.inverse[i] = inverse;
  }
}

void NormalizeBack(const NormalizedRow& row, const float* gradients, float* results) {
  const std::int64_t padded = PaddedCount(row.channels);
  for (std::int64_t i = 0; i < row.count; ++i) {
    const float* const gradient = gradients + i * padded;
    const float* const normal = row.normal + i * padded;
    float* const __restrict result = results + i * row.channels;
    float along = 0;
    for (std::int64_t c = 0; c < row.channels; ++c) along += gradient[c] * normal[c];
    for (std::int64_t c = 0; c < row.channels; ++c) {
      result[c] += row.inverse[i] * (gradient[c] - normal[c] * along);
    }
  }
}

// The four pixels around a position, and their weights. A position that is NaN reads no pixel.
struct Corners {
  std::int64_t x;
  std::int64_t y;
  float right;
  float below;
  // The derivative of the position by the flow: 0 where the position is clamped, otherwise 1.
  float moves_x;
  float moves_y;
  bool near;
};

MILLRACE_INLINE float Held(float at, std::int64_t side, float& moves) {
  const float half = 0.5F * static_cast<float>(side - 1);
  moves = -half <= at && at <= 3 * half ? 1 : 0;
  return at < -half ? -half : at > 3 * half ? 3 * half : at;
}

MILLRACE_INLINE Corners Around(const WarpedRow& row, std::int64_t x) {
  Corners corners;
  const float at_x = Held(static_cast<float>(x) + row.flow[2 * x], row.width, corners.moves_x);
  const float at_y =
      Held(static_cast<float>(row.y) + row.flow[2 * x + 1], row.height, corners.moves_y);
  corners.near = at_x > -1 && at_x < static_cast<float>(row.width) && at_y > -1 &&
                 at_y < static_cast<float>(row.height);
  if (!corners.near) return corners;
  const float left = __builtin_floorf(at_x);
  const float top = __builtin_floorf(at_y);
  corners.x = static_cast<std::int64_t>(left);
  corners.y = static_cast<std::int64_t>(top);
  corners.right = at_x - left;
  corners.below = at_y - top;
  return corners;
}

MILLRACE_INLINE std::int64_t Place(const WarpedRow& row, std::int64_t x, std::int64_t y) {
  const bool inside = 0 <= x && x < row.width && 0 <= y && y < row.height;
  return inside ? (y * row.width + x) * row.channels : -1;
}

struct Places {
  std::int64_t of[4];
  float shares[4];
};

MILLRACE_INLINE Places PlacesOf(const WarpedRow& row, const Corners& at) {
  return {{Place(row, at.x, at.y), Place(row, at.x + 1, at.y), Place(row, at.x, at.y + 1),
           Place(row, at.x + 1, at.y + 1)},
          {(1 - at.right) * (1 - at.below), at.right * (1 - at.below), (1 - at.right) * at.below,
           at.right * at.below}};
}

void Warp(const WarpedRow& row) {
  for (std::int64_t x = 0; x < row.width; ++x) {
    float* const __restrict to = row.seen + x * row.channels;
    for (std::int64_t c = 0; c < row.channels; ++c) to[c] = 0;
    const Corners at = Around(row, x);
    if (!at.near) continue;
    const Places places = PlacesOf(row, at);
    for (int i = 0; i < 4; ++i) {
      if (places.of[i] < 0) continue;
      const float* const from = row.map + places.of[i];
      const float share = places.shares[i];
      for (std::int64_t c = 0; c < row.channels; ++c) to[c] += from[c] * share;
    }
  }
}

void WarpBack(const WarpedRow& row, const float* gradients, float* to_map, float* to_flow) {
  for (std::int64_t x = 0; x < row.width; ++x) {
    const Corners at = Around(row, x);
    if (!at.near) continue;
    const Places places = PlacesOf(row, at);
    const float* const gradient = gradients + x * row.channels;
    float along[4] = {0, 0, 0, 0};
    for (int i = 0; i < 4; ++i) {
      if (places.of[i] < 0) continue;
      const float* const from = row.map + places.of[i];
      float* const __restrict to = to_map + places.of[i];
      const float share = places.shares[i];
      float product = 0;
      for (std::int64_t c = 0; c < row.channels; ++c) {
        to[c] += gradient[c] * share;
        product += gradient[c] * from[c];
      }
      along[i] = product;
    }
    to_flow[2 * x] +=
        at.moves_x * ((along[1] - along[0]) * (1 - at.below) + (along[3] - along[2]) * at.below);
    to_flow[2 * x + 1] +=
        at.moves_y * ((along[2] - along[0]) * (1 - at.right) + (along[3] - along[1]) * at.right);
  }
}

/// The sums of this number of displacements are in registers at once.
constexpr int kGroup = 7;

void Compare(const ComparedRow& row) {
  const int side = 2 * row.radius + 1;
  for (int dy = 0; dy < side; ++dy) {
    const std::int64_t y = row.y + dy - row.radius;
    const bool inside = 0 <= y && y < row.height;
    const float* const second = row.second + y * row.channels * row.second_width;
    for (int dx = 0; dx < side; dx += kGroup) {
      const int group = dx + kGroup <= side ? kGroup : side - dx;
      for (std::int64_t x = 0; x < row.width; x += kLanes) {
        float made[kGroup][kLanes] = {};
        if (inside) {
          Lanes sums[kGroup] = {};
          for (std::int64_t c = 0; c < row.channels; ++c) {
            const Lanes first = Load(row.first + c * row.first_width + x);
            const float* const from = second + c * row.second_width + x + dx;
#pragma GCC unroll 8
            for (int d = 0; d < kGroup; ++d) sums[d] += first * Load(from + d);
          }
          __builtin_memcpy(made, sums, sizeof(made));
        }
        const std::int64_t lanes = Min(kLanes, row.width - x);
        for (std::int64_t lane = 0; lane < lanes; ++lane) {
          float* const to = row.results + (x + lane) * row.stride + dy * side + dx;
          for (int d = 0; d < group; ++d) to[d] = made[d][lane];
        }
      }
    }
  }
}

template <int kVectors>
MILLRACE_INLINE void SpreadPixel(const SpreadRow& row, std::int64_t x, std::int64_t column) {
  const int side = 2 * row.radius + 1;
  Lanes sums[kVectors] = {};
  for (int dy = 0; dy < side; ++dy) {
    const std::int64_t from_y = row.y + dy - row.radius;
    if (from_y < 0 || from_y >= row.height) continue;
    for (int dx = 0; dx < side; ++dx) {
      const std::int64_t from_x = x + dx - row.radius;
      if (from_x < 0 || from_x >= row.width) continue;
      const int channel = dy * side + dx;
      const std::int64_t from = from_y * row.width + from_x;
      const float factor = row.opposite
                               ? row.factors[from * row.stride + side * side - 1 - channel]
                               : row.factors[(row.y * row.width + x) * row.stride + channel];
      const float* const values = row.map + from * row.channels + column;
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[v] += Load(values + v * kLanes) * factor;
    }
  }
  float* const to = row.results + x * row.channels + column;
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) At(to + v * kLanes) += sums[v];
}

void Spread(const SpreadRow& row) {
  for (std::int64_t x = 0; x < row.width; ++x) {
    std::int64_t column = 0;
    for (; column + 2 * kLanes <= row.channels; column += 2 * kLanes) {
      SpreadPixel<2>(row, x, column);
    }
    for (; column < row.channels; column += kLanes) SpreadPixel<1>(row, x, column);
  }
}
