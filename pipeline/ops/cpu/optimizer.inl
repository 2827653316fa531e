// The loops of optimizer steps, with one pass over each tensor.

MILLRACE_INLINE float Root(float of) { return __builtin_sqrtf(of); }
MILLRACE_INLINE double Root(double of) { return __builtin_sqrt(of); }

// One vector of numbers. Loops over single numbers are not used: compilers round their vectors
// differently from the remainders around them, whose size depends on the address.
template <typename T>
struct Several {
  static constexpr std::int64_t kCount = kLanes * sizeof(float) / sizeof(T);
  using Vector __attribute__((vector_size(kCount * sizeof(T)))) = T;

  Vector values = {};

  Several(const T* from, std::int64_t count) {
    if (count == kCount) {
      __builtin_memcpy(&values, from, sizeof(values));
    } else {
      __builtin_memcpy(&values, from, static_cast<std::size_t>(count) * sizeof(T));
    }
  }
  void Store(T* to, std::int64_t count) const {
    if (count == kCount) {
      __builtin_memcpy(to, &values, sizeof(values));
    } else {
      __builtin_memcpy(to, &values, static_cast<std::size_t>(count) * sizeof(T));
    }
  }
};

template <typename T>
void RmsProp(const RmsPropStep<T>& step) {
  const RmsPropStep<T> by = step;
  for (std::int64_t i = 0; i < by.count; i += Several<T>::kCount) {
    const std::int64_t count =
        by.count - i < Several<T>::kCount ? by.count - i : Several<T>::kCount;
    Several<T> value(by.values + i, count);
    Several<T> square(by.squares + i, count);
    const Several<T> given(by.gradients + i, count);
    const auto gradient = given.values + by.weight_decay * value.values;
    square.values = by.decay * square.values + by.fresh * gradient * gradient;
    auto roots = square.values;
    for (std::int64_t k = 0; k < Several<T>::kCount; ++k) roots[k] = Root(roots[k]);
    value.values -= by.rate * gradient / (roots + by.eps);
    square.Store(by.squares + i, count);
    value.Store(by.values + i, count);
  }
}

// An exponent's bits grow with it; a value that is not finite has all of them set.
bool AllBelow(const float* values, std::int64_t count, int exponent) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  const std::uint32_t least = static_cast<std::uint32_t>(exponent + 127) << 23U;
  std::uint32_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    __builtin_memcpy(&bits, values + i, sizeof(bits));
    found |= (bits & kExponent) >= least ? 1U : 0U;
  }
  return found == 0;
}
