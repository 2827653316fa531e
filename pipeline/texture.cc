#include "pipeline/texture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace millrace::pipeline {
namespace {

using Point = std::complex<double>;

// A grid of grey values, filled leaf by leaf.
struct Canvas {
  int width;
  int height;
  std::vector<float> pixels;

  float& at(int x, int y) { return pixels[static_cast<std::size_t>(y) * width + x]; }
};

// Smooth noise in -1..1: octaves of random lattices, each half as strong as the one twice as
// coarse.
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
        noise.at(x, y) += static_cast<float>(
            strength * std::lerp(std::lerp(corner[0], corner[1], u),
                                 std::lerp(corner[columns], corner[columns + 1], u), v));
      }
    }
  }
  return noise;
}

struct Leaf {
  Point center;
  // Divides a point by these: its own axes, half its size.
  Point axis;
  double aspect;
  bool box;
  double grey;
  double grain;
  // Grey per pixel, to the right and down: light falls on things unevenly.
  Point shade;

  bool Covers(Point offset) const {
    const Point own = offset / axis;
    const double x = std::abs(own.real());
    const double y = std::abs(own.imag()) * aspect;
    return box ? std::max(x, y) < 1 : x * x + y * y < 1;
  }
};

// The density of radii falls with their cube: every size covers as much area as any other.
double DrawRadius(const Texture::Options& options, Random& random) {
  const double small = 1 / (options.least_radius * options.least_radius);
  const double large = 1 / (options.most_radius * options.most_radius);
  return 1 / std::sqrt(random.Uniform(large, small));
}

Leaf DrawLeaf(const Texture::Options& options, Random& random) {
  const double radius = DrawRadius(options, random);
  const double tone = options.contrast * random.Uniform(-1, 1);
  return {.center = {random.Uniform(0, options.width), random.Uniform(0, options.height)},
          .axis = std::polar(radius, random.Uniform(0, std::numbers::pi)),
          .aspect = random.Uniform(1, 4),
          .box = random.Chance(0.5),
          .grey = options.brightness + tone,
          .grain = options.contrast * random.Uniform(0, 0.5) * random.Uniform(0, 1),
          .shade = {tone * random.Uniform(-0.5, 0.5) / radius,
                    tone * random.Uniform(-0.5, 0.5) / radius}};
}

void Paint(const Leaf& leaf, Canvas& noise, Canvas& canvas) {
  const double reach = std::abs(leaf.axis) * (leaf.box ? std::numbers::sqrt2 : 1);
  const int left = std::max(0, static_cast<int>(leaf.center.real() - reach));
  const int right = std::min(canvas.width - 1, static_cast<int>(leaf.center.real() + reach));
  const int top = std::max(0, static_cast<int>(leaf.center.imag() - reach));
  const int bottom = std::min(canvas.height - 1, static_cast<int>(leaf.center.imag() + reach));
  for (int y = top; y <= bottom; ++y) {
    for (int x = left; x <= right; ++x) {
      const Point offset = Point(x, y) - leaf.center;
      if (!leaf.Covers(offset)) continue;
      const double shade = leaf.shade.real() * offset.real() + leaf.shade.imag() * offset.imag();
      canvas.at(x, y) = static_cast<float>(leaf.grey + shade + leaf.grain * noise.at(x, y));
    }
  }
}

// A lens never draws an edge sharper than this: weights 1, 2, 1 both ways.
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

// Weights of four neighbours for a point between the middle two: Catmull and Rom's cubics.
std::array<double, 4> CubicWeights(double t) {
  return {t * (-0.5 + t * (1 - 0.5 * t)), 1 + t * t * (-2.5 + 1.5 * t),
          t * (0.5 + t * (2 - 1.5 * t)), t * t * (-0.5 + 0.5 * t)};
}

int Mirror(int i, int size) {
  const int period = 2 * size;
  i = ((i % period) + period) % period;
  return i < size ? i : period - 1 - i;
}

}  // namespace

Texture::Texture(const Options& options, Random& random)
    : width_(options.width), height_(options.height) {
  Canvas noise = MakeNoise(width_, height_, random);
  Canvas canvas{width_, height_,
                std::vector<float>(noise.pixels.size(), static_cast<float>(options.brightness))};
  // As many as cover everything several times.
  const double area = options.least_radius * options.least_radius * 4;
  const int leaves = static_cast<int>(width_ * height_ / area) + 10;
  for (int i = 0; i < leaves; ++i) Paint(DrawLeaf(options, random), noise, canvas);
  pixels_ = Soften(canvas);
}

float Texture::Pixel(int x, int y) const {
  return pixels_[static_cast<std::size_t>(Mirror(y, height_)) * width_ + Mirror(x, width_)];
}

float Texture::At(std::complex<double> point) const {
  const double left = std::floor(point.real());
  const double top = std::floor(point.imag());
  const auto columns = CubicWeights(point.real() - left);
  const auto rows = CubicWeights(point.imag() - top);
  double sum = 0;
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 4; ++i) {
      sum += rows[j] * columns[i] *
             Pixel(static_cast<int>(left) + i - 1, static_cast<int>(top) + j - 1);
    }
  }
  return static_cast<float>(sum);
}

}  // namespace millrace::pipeline
