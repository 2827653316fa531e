// The loops of updates: once through each tensor.

MILLRACE_INLINE float Root(float of) { return __builtin_sqrtf(of); }
MILLRACE_INLINE double Root(double of) { return __builtin_sqrt(of); }

template <typename T>
void RmsProp(const RmsPropStep<T>& step) {
  T* const __restrict values = step.values;
  const T* const __restrict gradients = step.gradients;
  T* const __restrict squares = step.squares;
  const RmsPropStep<T> by = step;
  for (std::int64_t i = 0; i < by.count; ++i) {
    const T gradient = gradients[i] + by.weight_decay * values[i];
    const T square = by.decay * squares[i] + by.fresh * gradient * gradient;
    squares[i] = square;
    values[i] -= by.rate * gradient / (Root(square) + by.eps);
  }
}

// A value that is not finite has all bits of its exponent set.
bool AllFinite(const float* values, std::int64_t count) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  std::uint32_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    __builtin_memcpy(&bits, values + i, sizeof(bits));
    found |= (bits & kExponent) == kExponent ? 1U : 0U;
  }
  return found == 0;
}
