// The loops of optimizer steps.

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
std::int64_t CountFrom(const RmsPropStep<T>& by, std::int64_t place) {
  return by.count - place < Several<T>::kCount ? by.count - place : Several<T>::kCount;
}

// The gradients from `place` on, with weight decay, and what divides them.
template <typename T>
struct Division {
  typename Several<T>::Vector gradients;
  typename Several<T>::Vector divisors;
};

// Adds the gradients' squares to the means.
template <typename T>
MILLRACE_INLINE Division<T> AdvanceSquares(const RmsPropStep<T>& by, std::int64_t place,
                                           const Several<T>& value) {
  const std::int64_t count = CountFrom(by, place);
  Several<T> square(by.squares + place, count);
  const Several<T> given(by.gradients + place, count);
  Division<T> division;
  division.gradients = given.values + by.weight_decay * value.values;
  square.values = by.decay * square.values + by.fresh * division.gradients * division.gradients;
  square.Store(by.squares + place, count);
  division.divisors = square.values;
  for (std::int64_t k = 0; k < Several<T>::kCount; ++k) {
    division.divisors[k] = Root(division.divisors[k]);
  }
  division.divisors = division.divisors + by.eps;
  return division;
}

// Puts the updates in place of the gradients. Returns the mean of their squares.
template <typename T>
double MakeUpdates(const RmsPropStep<T>& by) {
  constexpr std::int64_t kBlock = 4096;  // Short sums, in which a float loses little.
  double sum = 0;
  for (std::int64_t block = 0; block < by.count; block += kBlock) {
    const std::int64_t end = by.count - block < kBlock ? by.count : block + kBlock;
    typename Several<T>::Vector sums = {};
    for (std::int64_t i = block; i < end; i += Several<T>::kCount) {
      const std::int64_t count = CountFrom(by, i);
      const Division<T> division = AdvanceSquares(by, i, Several<T>(by.values + i, count));
      Several<T> update(by.gradients + i, count);
      update.values = division.gradients / division.divisors;
      update.Store(by.gradients + i, count);
      sums += update.values * update.values;
    }
    for (std::int64_t k = 0; k < Several<T>::kCount; ++k) sum += static_cast<double>(sums[k]);
  }
  return sum / static_cast<double>(by.count);
}

// Two passes: the size of an update is known only after the first.
template <typename T>
void ClippedRmsProp(const RmsPropStep<T>& by) {
  const double size = Root(MakeUpdates(by));
  const auto clip = static_cast<double>(by.clip);
  const T rate =
      size > clip ? static_cast<T>(static_cast<double>(by.rate) * (clip / size)) : by.rate;
  for (std::int64_t i = 0; i < by.count; i += Several<T>::kCount) {
    const std::int64_t count = CountFrom(by, i);
    Several<T> value(by.values + i, count);
    value.values -= rate * Several<T>(by.gradients + i, count).values;
    value.Store(by.values + i, count);
  }
}

template <typename T>
void RmsProp(const RmsPropStep<T>& step) {
  const RmsPropStep<T> by = step;
  if (by.clip > 0) return ClippedRmsProp(by);
  for (std::int64_t i = 0; i < by.count; i += Several<T>::kCount) {
    const std::int64_t count = CountFrom(by, i);
    Several<T> value(by.values + i, count);
    const Division<T> division = AdvanceSquares(by, i, value);
    value.values -= by.rate * division.gradients / division.divisors;
    value.Store(by.values + i, count);
  }
}

// An exponent's bits grow with it; a value that is not finite has all of them set.
bool AllBelow(const float* values, std::int64_t count, int exponent) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  const std::uint32_t min = static_cast<std::uint32_t>(exponent + 127) << 23U;
  std::uint32_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    __builtin_memcpy(&bits, values + i, sizeof(bits));
    found |= (bits & kExponent) >= min ? 1U : 0U;
  }
  return found == 0;
}
