// The flow from which a network starts, by a classical method. So the first prediction of a new
// camera is as good as the methods that people use today.
#pragma once

#include <memory>
#include <span>

namespace millrace::pipeline {

/// DIS down to the single pixel, with few steps of its search. On four real pairs with known motion
/// (192 to 1024 pixels wide) its end-point error is 0.58 to 0.83 of the preset medium's. Its cost
/// is 2.5 times the preset's. Four steps instead of 25 are faster and, with OpenCV 4.6, not worse.
///
/// Not thread-safe.
class PriorFlow {
 public:
  /// REQUIRES: at least 16 pixels on each side.
  PriorFlow(int width, int height);
  ~PriorFlow();
  PriorFlow(PriorFlow&&) noexcept;
  PriorFlow& operator=(PriorFlow&&) noexcept;

  /// Sets the number of OpenCV's threads in the process. Only the first call has an effect; the
  /// first PriorFlow calls it with 1. More threads take the cores of stages on the CPU. The flow
  /// does not depend on it. Thread-safe.
  static void SetThreads(int threads);

  /// Computes the motion from `previous` to `current`, grey planes in 0..1, rows first: writes all
  /// dx, rows first, then all dy, in pixels. REQUIRES: the sizes fit.
  void Compute(std::span<const float> previous, std::span<const float> current,
               std::span<float> flow);

 private:
  struct Buffers;
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace millrace::pipeline
