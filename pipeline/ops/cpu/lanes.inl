// Vectors of kLanes floats; the including file defines kLanes. Include it inside a namespace of
// that file's own.

using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
/// The same vector in memory, at any address.
using StoredLanes =
    float __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float)), may_alias));

#define MILLRACE_INLINE inline __attribute__((always_inline))

MILLRACE_INLINE const StoredLanes& Load(const float* from) {
  return *reinterpret_cast<const StoredLanes*>(from);
}
MILLRACE_INLINE StoredLanes& At(float* to) { return *reinterpret_cast<StoredLanes*>(to); }

MILLRACE_INLINE std::int64_t Min(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
