// The loops of updates: once through each tensor.

void RmsProp(const RmsPropStep& step) {
  float* const __restrict values = step.values;
  const float* const __restrict gradients = step.gradients;
  float* const __restrict squares = step.squares;
  const RmsPropStep by = step;
  for (std::int64_t i = 0; i < by.count; ++i) {
    const float gradient = gradients[i] + by.weight_decay * values[i];
    const float square = by.decay * squares[i] + by.fresh * gradient * gradient;
    squares[i] = square;
    values[i] -= by.rate * gradient / (__builtin_sqrtf(square) + by.eps);
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
