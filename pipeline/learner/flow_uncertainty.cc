#include "pipeline/learner/flow_uncertainty.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "pipeline/learner/green_picture.h"

namespace millrace::pipeline {
namespace {

// Measured on pairs of films and of a generator with known motion, 192 to 1024 pixels wide. Other
// radii from 2 to 5 order pixels nearly as well.
constexpr int kMotionRadius = 5;
constexpr int kPictureRadius = 3;
// In squared levels of a byte: about the noise of a camera. Flat ground has no gradient to tell by.
constexpr double kNoise = 16;

struct Size {
  int width = 0;
  int height = 0;

  [[nodiscard]] std::size_t pixels() const { return static_cast<std::size_t>(width) * height; }
};

/// The share of one cell in a square of `radius` around each of `cells` in a row. Only the part of
/// the square in the row counts.
std::vector<double> Shares(int cells, int radius) {
  std::vector<double> shares(cells);
  for (int i = 0; i < cells; ++i) {
    shares[i] = 1.0 / (std::min(i + radius, cells - 1) - std::max(i - radius, 0) + 1);
  }
  return shares;
}

/// Writes to `to` the sum of `from` over `radius` cells on each side of each cell.
void SumAcross(const std::vector<double>& from, int radius, double* to) {
  const int cells = static_cast<int>(from.size());
  double sum = std::accumulate(from.begin(), from.begin() + std::min(radius, cells), 0.0);
  for (int x = 0; x < cells; ++x) {
    if (x + radius < cells) sum += from[x + radius];
    if (x - radius > 0) sum -= from[x - radius - 1];
    to[x] = sum;
  }
}

/// The mean of `values` over the square of `radius` around each pixel, as far as it lies in the
/// picture. Running sums leave a rest of either sign where the true mean is 0.
std::vector<double> BoxMean(const std::vector<double>& values, Size size, int radius) {
  const auto [width, height] = size;
  const std::vector<double> across = Shares(width, radius);
  const std::vector<double> down = Shares(height, radius);
  std::vector<double> columns(width);  // The sums of the square's rows.
  const auto add = [&, width = width](int row, double sign) {
    const double* const from = values.data() + static_cast<std::ptrdiff_t>(row) * width;
    for (int x = 0; x < width; ++x) columns[x] += sign * from[x];
  };
  for (int y = 0; y < std::min(radius, height); ++y) add(y, 1);
  std::vector<double> means(values.size());
  for (int y = 0; y < height; ++y) {
    if (y + radius < height) add(y + radius, 1);
    if (y - radius > 0) add(y - radius - 1, -1);
    double* const row = means.data() + static_cast<std::ptrdiff_t>(y) * width;
    SumAcross(columns, radius, row);
    for (int x = 0; x < width; ++x) row[x] *= across[x] * down[y];
  }
  return means;
}

/// Adds the variance of `values` in the square around each pixel to `variance`.
void AddVariance(std::vector<double> values, Size size, std::vector<double>& variance) {
  const std::vector<double> means = BoxMean(values, size, kMotionRadius);
  for (double& value : values) value *= value;
  const std::vector<double> squares = BoxMean(values, size, kMotionRadius);
  for (std::size_t i = 0; i < variance.size(); ++i) {
    variance[i] += std::max(0.0, squares[i] - means[i] * means[i]);
  }
}

/// The squared gradient, by central differences.
double Steepness(const GreenPicture& light, int x, int y) {
  const float across =
      light.At(std::min(x + 1, light.width() - 1), y) - light.At(std::max(x - 1, 0), y);
  const float down =
      light.At(x, std::min(y + 1, light.height() - 1)) - light.At(x, std::max(y - 1, 0));
  return (across * across + down * down) / 4;
}

/// The flow's two components apart, 0 where one of them is not finite. A vector that is longer than
/// the picture is cut: its square would swallow its neighbours in sums.
struct Motion {
  explicit Motion(const FlowOverPictures& pictures) {
    const auto max_shift = static_cast<float>(pictures.width + pictures.height);
    const float sign = pictures.backward ? -1.0F : 1.0F;
    dx.reserve(pictures.flow.size() / 2);
    dy.reserve(pictures.flow.size() / 2);
    known.reserve(pictures.flow.size() / 2);
    for (std::size_t i = 0; i < pictures.flow.size(); i += 2) {
      const bool finite = std::isfinite(pictures.flow[i]) && std::isfinite(pictures.flow[i + 1]);
      known.push_back(finite);
      dx.push_back(finite ? std::clamp(sign * pictures.flow[i], -max_shift, max_shift) : 0);
      dy.push_back(finite ? std::clamp(sign * pictures.flow[i + 1], -max_shift, max_shift) : 0);
    }
  }

  std::vector<double> dx;
  std::vector<double> dy;
  std::vector<bool> known;
};

/// The length of the motion that would still be missing, squared.
std::vector<double> SquaredMisfit(const FlowOverPictures& pictures, const Motion& motion,
                                  Size size) {
  const GreenPicture base(pictures.base, size.width, size.height);
  const GreenPicture target(pictures.target, size.width, size.height);
  std::vector<double> differences(size.pixels());
  std::vector<double> gradients(size.pixels());
  std::size_t i = 0;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x, ++i) {
      const double difference =
          base.At(x, y) - target.Between(static_cast<float>(x + motion.dx[i]),
                                         static_cast<float>(y + motion.dy[i]));
      differences[i] = difference * difference;
      gradients[i] = Steepness(base, x, y);
    }
  }
  std::vector<double> misfit = BoxMean(differences, size, kPictureRadius);
  const std::vector<double> steepness = BoxMean(gradients, size, kPictureRadius);
  for (i = 0; i < misfit.size(); ++i) {
    misfit[i] = std::max(0.0, misfit[i]) / (std::max(0.0, steepness[i]) + kNoise);
  }
  return misfit;
}

}  // namespace

std::vector<float> FlowUncertainty(const FlowOverPictures& pictures) {
  const Size size{pictures.width, pictures.height};
  MILLRACE_CHECK(pictures.flow.size() == 2 * size.pixels() &&
                 pictures.base.size() == 3 * size.pixels() &&
                 pictures.target.size() == 3 * size.pixels());
  const Motion motion(pictures);
  std::vector<double> variance(size.pixels());
  AddVariance(motion.dx, size, variance);
  AddVariance(motion.dy, size, variance);
  const std::vector<double> misfit = SquaredMisfit(pictures, motion, size);
  std::vector<float> uncertainty(size.pixels());
  for (std::size_t i = 0; i < uncertainty.size(); ++i) {
    const double expected = std::sqrt(variance[i]) + std::sqrt(misfit[i]);
    uncertainty[i] =
        motion.known[i] ? static_cast<float>(expected) : std::numeric_limits<float>::infinity();
  }
  return uncertainty;
}

}  // namespace millrace::pipeline
