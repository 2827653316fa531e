// The loops of convolutions over vectors of kLanes floats. Forward, backward and the weights'
// gradient use one block of products: broadcast values times a few vectors, summed in registers.

// As many rows as the registers hold sums for. More than eight would need too many addresses.
template <int kVectors>
constexpr int kRowsFor = kSums / kVectors < 8 ? kSums / kVectors : 8;

/// sums[r][v] += sum over k < depth of rows[r][k * step] * columns[k * stride + v]
template <int kRows, int kVectors>
MILLRACE_INLINE void AddProducts(const float* const* rows, std::int64_t step, const float* columns,
                                 std::int64_t stride, std::int64_t depth,
                                 Lanes (&sums)[kRows][kVectors]) {
  for (std::int64_t k = 0; k < depth; ++k) {
    Lanes vectors[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) vectors[v] = Load(columns + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const float factor = rows[r][k * step];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] += vectors[v] * factor;
    }
    columns += stride;
  }
}

/// Copies the pixels that a tap reads from `x` on, with zeros for pixels beyond the row.
void CopyInside(const GatheredRow& row, const Tap& tap, std::int64_t x, float* to) {
  for (std::int64_t p = 0; p < tap.span; ++p) {
    const bool inside = 0 <= x + p && x + p < row.source_width;
    const float* const from = tap.row + (x + p) * row.source_stride;
    for (std::int64_t c = 0; c < row.source_channels; ++c) *to++ = inside ? from[c] : 0;
  }
}

template <int kVectors>
MILLRACE_INLINE void Store(const Lanes (&sums)[kVectors], float slope, std::int64_t channels,
                           float* to) {
  Lanes made[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    made[v] = slope == 1 ? sums[v] : sums[v] > 0 ? sums[v] : sums[v] * slope;
  }
  if (channels >= kVectors * kLanes) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) At(to + v * kLanes) = made[v];
    return;
  }
  __builtin_memcpy(to, made, channels * sizeof(float));
}

/// Computes kVectors vectors of columns, from `column` on, for a whole row.
template <int kVectors>
void GatherColumns(const GatheredRow& row, std::int64_t column) {
  constexpr int kRows = kRowsFor<kVectors>;
  const std::int64_t padded = PaddedCount(row.channels);
  // One result reads before the row, and one beyond it.
  float edges[2][kSide * kMaxChannels];
  for (std::int64_t begin = 0; begin < row.count; begin += kRows) {
    Lanes sums[kRows][kVectors];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] = row.bias == nullptr ? Lanes{} : Load(row.bias + column + v * kLanes);
      }
    }
    for (int t = 0; t < row.tap_count; ++t) {
      const Tap& tap = row.taps[t];
      const float* pixels[kRows];
      const std::int64_t x0 = tap.first + begin * tap.step;
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        pixels[r] = tap.row + (x0 + r * tap.step) * row.source_stride;
      }
      const bool all_inside = x0 >= 0 && x0 + (kRows - 1) * tap.step + tap.span <= row.source_width;
      for (int r = 0; r < kRows && !all_inside; ++r) {
        const std::int64_t x = x0 + r * tap.step;
        if (x >= 0 && x + tap.span <= row.source_width) continue;
        if (begin + r >= row.count) {
          pixels[r] = pixels[0];  // Not used.
          continue;
        }
        float* const edge = edges[x < 0 ? 0 : 1];
        CopyInside(row, tap, x, edge);
        pixels[r] = edge;
      }
      AddProducts<kRows, kVectors>(pixels, 1, tap.weights + column, padded,
                                   tap.span * row.source_channels, sums);
    }
    float* to = row.results + begin * row.stride + column;
    for (int r = 0; r < kRows && begin + r < row.count; ++r) {
      Store<kVectors>(sums[r], row.slope, row.channels - column, to + r * row.stride);
    }
  }
}

template <int kVectors>
void WeighColumns(const WeighedRow& row, std::int64_t column) {
  constexpr int kRows = kRowsFor<kVectors>;
  const std::int64_t stride = row.gradient_channels;
  for (std::int64_t begin = 0; begin < row.pixel_channels; begin += kRows) {
    const std::int64_t rows = Min(kRows, row.pixel_channels - begin);
    const float* pixels[kRows];
    Lanes sums[kRows][kVectors];
    float* to = row.sums + begin * stride + column;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      // Rows beyond the last one repeat it; their sums are not used.
      pixels[r] = row.pixels + begin + Min(r, rows - 1);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Lanes{};
    }
    AddProducts<kRows, kVectors>(pixels, row.step, row.gradients + column, stride, row.count, sums);
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) At(to + r * stride + v * kLanes) += sums[r][v];
    }
  }
}

/// Calls of(number of vectors as a constant, first column) until all columns are done.
template <typename Columns>
MILLRACE_INLINE void InColumns(std::int64_t channels, const Columns& of) {
  for (std::int64_t column = 0; column < channels;) {
    const std::int64_t vectors = Min(kMaxVectors, (channels - column + kLanes - 1) / kLanes);
    of(vectors, column);
    column += vectors * kLanes;
  }
}

void Gather(const GatheredRow& row) {
  InColumns(row.channels, [&](std::int64_t vectors, std::int64_t column) {
    switch (vectors) {
      case 1:
        return GatherColumns<1>(row, column);
      case 2:
        return GatherColumns<2>(row, column);
      case 3:
        return GatherColumns < kMaxVectors < 3 ? 1 : 3 > (row, column);
      default:
        return GatherColumns < kMaxVectors < 4 ? 1 : 4 > (row, column);
    }
  });
}

void Weigh(const WeighedRow& row) {
  InColumns(row.gradient_channels, [&](std::int64_t vectors, std::int64_t column) {
    switch (vectors) {
      case 1:
        return WeighColumns<1>(row, column);
      case 2:
        return WeighColumns<2>(row, column);
      case 3:
        return WeighColumns < kMaxVectors < 3 ? 1 : 3 > (row, column);
      default:
        return WeighColumns < kMaxVectors < 4 ? 1 : 4 > (row, column);
    }
  });
}

void Mask(const MaskedRow& row) {
  const std::int64_t channels = row.channels;
  const std::int64_t padded = PaddedCount(channels);
  const float slope = row.slope;
  float* const __restrict bias = row.bias;
  for (std::int64_t i = 0; i < row.count; ++i) {
    const float* const gradients = row.gradients + i * channels;
    const float* const results = row.results + i * channels;
    float* const __restrict masked = row.masked + i * padded;
    for (std::int64_t c = 0; c < channels; ++c) {
      const float gradient = gradients[c] * (results[c] > 0 ? 1.0F : slope);
      masked[c] = gradient;
      bias[c] += gradient;
    }
    for (std::int64_t c = channels; c < padded; ++c) masked[c] = 0;
  }
}
