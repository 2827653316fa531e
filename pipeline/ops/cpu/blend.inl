// The loops that mix each pixel's flow with its neighbours' (BlendFlow()).

using FourLanes = float __attribute__((vector_size(4 * sizeof(float))));
using StoredFour =
    float __attribute__((vector_size(4 * sizeof(float)), aligned(alignof(float)), may_alias));
using IntLanes = std::int32_t __attribute__((vector_size(kLanes * sizeof(float))));

MILLRACE_INLINE FourLanes LoadFour(const float* from) {
  return *reinterpret_cast<const StoredFour*>(from);
}
MILLRACE_INLINE void StoreFour(float* to, FourLanes values) {
  *reinterpret_cast<StoredFour*>(to) = values;
}

// e^x for x <= 0; below -80 as for -80. The relative error is below 2e-7: 2^n times a polynomial of
// the rest, in -ln(2)/2 .. ln(2)/2 (Cephes' expf).
MILLRACE_INLINE Lanes ExpOfNegative(Lanes x) {
  constexpr float kMin = -80;
  constexpr float kLog2OfE = 1.44269504088896341F;
  // ln(2) in two parts, so that n ln(2) has no rounding.
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;
  x = x < kMin ? Lanes{} + kMin : x;
  // x is not positive, so conversion toward zero rounds to the nearest of x log2(e).
  const IntLanes n = __builtin_convertvector(x * kLog2OfE - 0.5F, IntLanes);
  const Lanes whole = __builtin_convertvector(n, Lanes);
  const Lanes rest = x - whole * kLn2High - whole * kLn2Low;
  Lanes sum = 1.9875691500e-4F * rest + 1.3981999507e-3F;
  sum = sum * rest + 8.3334519073e-3F;
  sum = sum * rest + 4.1665795894e-2F;
  sum = sum * rest + 1.6666665459e-1F;
  sum = sum * rest + 5.0000001201e-1F;
  sum = sum * rest * rest + rest + 1;
  const IntLanes power = (n + 127) << 23;
  return sum * reinterpret_cast<Lanes>(power);
}

// The weights of a cell's four pixels, not yet divided by their sum: e^(choice - largest choice).
// weights[4 k + pixel]. Returns the sums' inverses.
MILLRACE_INLINE FourLanes WeightsOf(const float* choices, float* weights) {
  FourLanes max = LoadFour(choices);
  for (int k = 1; k < kBlendTaps; ++k) {
    const FourLanes choice = LoadFour(choices + 4 * k);
    max = choice > max ? choice : max;
  }
  // kLanes is a multiple of four, so each vector has whole groups of four.
  constexpr std::int64_t kFloats = 4 * kBlendTaps;
  float raised[kFloats + kLanes] = {};
  for (int k = 0; k < kBlendTaps; ++k) {
    StoreFour(raised + 4 * k, LoadFour(choices + 4 * k) - max);
  }
  for (std::int64_t i = 0; i < kFloats; i += kLanes) {
    At(weights + i) = ExpOfNegative(Load(raised + i));
  }
  FourLanes sum = LoadFour(weights);
  for (int k = 1; k < kBlendTaps; ++k) sum += LoadFour(weights + 4 * k);
  return 1 / sum;
}

// The two rows of two pixels at `from`.
MILLRACE_INLINE FourLanes CellAt(const float* from, std::int64_t row) {
  return FourLanes{from[0], from[1], from[row], from[row + 1]};
}

void Blend(const BlendedRow& row) {
  const BlendedRow by = row;
  alignas(64) float weights[4 * kBlendTaps + kLanes];
  for (std::int64_t i = 0; i < by.count; ++i) {
    const float* const choices = by.choices + i * by.stride;
    const FourLanes inverse = WeightsOf(choices, weights);
    for (int c = 0; c < 2; ++c) {
      const float* const flow = by.flow + c * by.flow_plane + 2 * i;
      FourLanes sum = LoadFour(weights) * CellAt(flow, by.flow_row);
      for (int k = 1; k < kBlendTaps; ++k) {
        sum += LoadFour(weights + 4 * k) * CellAt(flow + by.offsets[k], by.flow_row);
      }
      const FourLanes made = sum * inverse + LoadFour(choices + 4 * (kBlendTaps + c));
      float* const to = by.results + c * by.result_plane + 2 * i;
      to[0] = made[0];
      to[1] = made[1];
      to[by.result_row] = made[2];
      to[by.result_row + 1] = made[3];
    }
  }
}

// The choices' gradients, with g the result's: w_k (g . flow_k - sum over j of w_j g . flow_j).
void BlendBack(const BlendedRow& row, float* gradients) {
  const BlendedRow by = row;
  alignas(64) float weights[4 * kBlendTaps + kLanes];
  for (std::int64_t i = 0; i < by.count; ++i) {
    const float* const choices = by.choices + i * by.stride;
    float* const to = gradients + i * by.stride;
    const FourLanes inverse = WeightsOf(choices, weights);
    FourLanes along[2];
    for (int c = 0; c < 2; ++c) {
      along[c] = CellAt(by.results + c * by.result_plane + 2 * i, by.result_row);
      StoreFour(to + 4 * (kBlendTaps + c), along[c]);
    }
    const float* const dx = by.flow + 2 * i;
    const float* const dy = dx + by.flow_plane;
    FourLanes mean = {};
    for (int k = 0; k < kBlendTaps; ++k) {
      const std::int64_t at = by.offsets[k];
      const FourLanes dot =
          along[0] * CellAt(dx + at, by.flow_row) + along[1] * CellAt(dy + at, by.flow_row);
      mean += LoadFour(weights + 4 * k) * inverse * dot;
      StoreFour(to + 4 * k, dot);
    }
    for (int k = 0; k < kBlendTaps; ++k) {
      const FourLanes weight = LoadFour(weights + 4 * k) * inverse;
      StoreFour(to + 4 * k, weight * (LoadFour(to + 4 * k) - mean));
    }
  }
}
