#include "pipeline/scenes/texture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace millrace::pipeline {
namespace {

using Point = std::complex<double>;

// Half the size of the smallest leaf, in pixels: as sharp as a camera's lens.
constexpr double kMinRadius = 1.5;

// A grid of grey values, filled leaf by leaf.
struct Canvas {
  int width;
  int height;
  std::vector<float> pixels;

  float& at(int x, int y) { return pixels[static_cast<std::size_t>(y) * width + x]; }
};

double Mix(double a, double b, double share) { return a + share * (b - a); }

// Smooth noise in -1..1: octaves of random lattices, each half as strong as the next coarser one.
Canvas MakeNoise(int width, int height, Random& random) {
  constexpr std::array<int, 5> kCells = {2, 4, 8, 16, 32};
  Canvas noise{width, height, std::vector<float>(static_cast<std::size_t>(width) * height)};
  for (const int cell : kCells) {
    const int columns = width / cell + 2;
    std::vector<double> lattice(static_cast<std::size_t>(columns) * (height / cell + 2));
    for (double& value : lattice) value = random.Uniform(-1, 1);
    const double strength = 0.5 * cell / kCells.back();
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const double* corner = &lattice[static_cast<std::size_t>(y / cell) * columns + x / cell];
        const double u = static_cast<double>(x % cell) / cell;
        const double v = static_cast<double>(y % cell) / cell;
        noise.at(x, y) +=
            static_cast<float>(strength * Mix(Mix(corner[0], corner[1], u),
                                              Mix(corner[columns], corner[columns + 1], u), v));
      }
    }
  }
  return noise;
}

struct Leaf {
  Point center;
  // Multiplies a point into the leaf's own axes, in units of half its size.
  Point to_own;
  double reach;
  double aspect;
  bool box;
  double grey;
  double grain;
  // Grey per pixel, to the right and down, because light falls unevenly.
  Point shade;

  bool Covers(Point offset) const {
    const double x = offset.real() * to_own.real() - offset.imag() * to_own.imag();
    const double y = (offset.real() * to_own.imag() + offset.imag() * to_own.real()) * aspect;
    return box ? std::max(std::abs(x), std::abs(y)) < 1 : x * x + y * y < 1;
  }
};

// The density of radii falls with their cube, so every size covers the same area.
double DrawRadius(const Texture::Options& options, Random& random) {
  const double small = 1 / (kMinRadius * kMinRadius);
  const double large = 1 / (options.max_radius * options.max_radius);
  return 1 / std::sqrt(random.Uniform(large, small));
}

Leaf DrawLeaf(const Texture::Options& options, Random& random) {
  // In sequence: the compiler may choose the order of function arguments.
  Leaf leaf;
  const double radius = DrawRadius(options, random);
  const double tone = options.contrast * random.Uniform(-1, 1);
  const double x = random.Uniform(0, options.width);
  leaf.center = {x, random.Uniform(0, options.height)};
  leaf.to_own = random.Direction() / radius;
  leaf.aspect = random.Uniform(1, 4);
  leaf.box = random.Chance(0.5);
  leaf.reach = leaf.box ? radius * std::numbers::sqrt2 : radius;
  leaf.grey = options.brightness + tone;
  leaf.grain = options.contrast * random.Uniform(0, 0.5);
  leaf.grain *= random.Uniform(0, 1);
  const double shade_x = tone * random.Uniform(-0.5, 0.5) / radius;
  leaf.shade = {shade_x, tone * random.Uniform(-0.5, 0.5) / radius};
  return leaf;
}

void Paint(const Leaf& leaf, Canvas& noise, Canvas& canvas) {
  const int left = std::max(0, static_cast<int>(leaf.center.real() - leaf.reach));
  const int right = std::min(canvas.width - 1, static_cast<int>(leaf.center.real() + leaf.reach));
  const int top = std::max(0, static_cast<int>(leaf.center.imag() - leaf.reach));
  const int bottom = std::min(canvas.height - 1, static_cast<int>(leaf.center.imag() + leaf.reach));
  for (int y = top; y <= bottom; ++y) {
    for (int x = left; x <= right; ++x) {
      const Point offset = Point(x, y) - leaf.center;
      if (!leaf.Covers(offset)) continue;
      const double shade = leaf.shade.real() * offset.real() + leaf.shade.imag() * offset.imag();
      canvas.at(x, y) = static_cast<float>(leaf.grey + shade + leaf.grain * noise.at(x, y));
    }
  }
}

// No lens draws a sharper edge: weights 1, 2, 1 in both directions.
std::vector<float> Soften(Canvas& canvas) {
  std::vector<float> result(canvas.pixels.size());
  for (int y = 0; y < canvas.height; ++y) {
    for (int x = 0; x < canvas.width; ++x) {
      float sum = 0;
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
          sum += static_cast<float>((2 - std::abs(dx)) * (2 - std::abs(dy))) *
                 canvas.at(std::clamp(x + dx, 0, canvas.width - 1),
                           std::clamp(y + dy, 0, canvas.height - 1));
        }
      }
      result[static_cast<std::size_t>(y) * canvas.width + x] = sum / 16;
    }
  }
  return result;
}

// Pixels beyond each border, so that all neighbours of any point exist.
constexpr int kMargin = 2;

// Weights of four neighbours for a point between the middle two: Catmull-Rom cubics.
std::array<float, 4> CubicWeights(float t) {
  return {t * (-0.5F + t * (1 - 0.5F * t)), 1 + t * t * (-2.5F + 1.5F * t),
          t * (0.5F + t * (2 - 1.5F * t)), t * t * (-0.5F + 0.5F * t)};
}

int Mirror(int i, int size) {
  const int period = 2 * size;
  i = ((i % period) + period) % period;
  return i < size ? i : period - 1 - i;
}

int Floor(double value) {
  const int toward_zero = static_cast<int>(value);
  return value < toward_zero ? toward_zero - 1 : toward_zero;
}

// The point in -0.5..size - 0.5 with the same content.
double Fold(double value, int size) {
  const double period = 2.0 * size;
  if (value < -0.5 || value >= period - 0.5) value -= period * Floor((value + 0.5) / period);
  return value < size - 0.5 ? value : period - 1 - value;
}

}  // namespace

Texture::Texture(const Options& options, Random& random)
    : width_(options.width), height_(options.height), row_(options.width + 2 * kMargin) {
  Canvas noise = MakeNoise(width_, height_, random);
  Canvas canvas{width_, height_,
                std::vector<float>(noise.pixels.size(), static_cast<float>(options.brightness))};
  // Enough leaves to cover everything several times.
  const double area = kMinRadius * kMinRadius * 4;
  const int leaves = static_cast<int>(width_ * height_ / area) + 10;
  for (int i = 0; i < leaves; ++i) Paint(DrawLeaf(options, random), noise, canvas);
  const std::vector<float> soft = Soften(canvas);
  for (int y = -kMargin; y < height_ + kMargin; ++y) {
    const float* row = &soft[static_cast<std::size_t>(Mirror(y, height_)) * width_];
    for (int x = -kMargin; x < width_ + kMargin; ++x) pixels_.push_back(row[Mirror(x, width_)]);
  }
}

float Texture::At(Point point) const {
  const double x = Fold(point.real(), width_);
  const double y = Fold(point.imag(), height_);
  const int left = Floor(x);
  const int top = Floor(y);
  const auto columns = CubicWeights(static_cast<float>(x - left));
  const auto rows = CubicWeights(static_cast<float>(y - top));
  const float* pixel =
      &pixels_[static_cast<std::size_t>(top + kMargin - 1) * row_ + left + kMargin - 1];
  float sum = 0;
  for (const float weight : rows) {
    const float of_row = columns[0] * pixel[0] + columns[1] * pixel[1] + columns[2] * pixel[2] +
                         columns[3] * pixel[3];
    sum += weight * of_row;
    pixel += row_;
  }
  return sum;
}

}  // namespace millrace::pipeline
