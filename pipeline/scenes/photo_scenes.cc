#include "pipeline/scenes/photo_scenes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <utility>

#include <ATen/ops/empty.h>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "base/check.h"
#include "base/random.h"

namespace millrace::pipeline {
namespace {

constexpr int kReferenceWidth = 192;
constexpr double kSlowest = 0.3;  // Pixels per frame at the reference width.
constexpr double kFastest = 10;
constexpr double kStillShare = 0.35;
constexpr int kMaxThings = 7;
constexpr double kMinThing = 0.05;  // Of the width.
constexpr double kMaxThing = 0.35;
// Pixels of texture beyond each border, so that little of it has to be mirrored.
constexpr int kMargin = 32;
// Outlines are drawn at twice the size, for soft edges.
constexpr int kOversampling = 2;

double LogUniform(Random& random, double low, double high) {
  return std::exp(random.Uniform(std::log(low), std::log(high)));
}

int Whole(Random& random, int count) { return static_cast<int>(random.Uniform(0, count)); }

// A motion of the picture's plane: a point's place now, from its place before.
using Motion = cv::Matx33d;

struct MotionOptions {
  double shift;  // In pixels.
  double spin;   // Standard deviations of the turn in radians, of the logarithm of the zoom,
  double tilt;   // and of the two terms of perspective, per pixel.
};

Motion DrawMotion(Random& random, cv::Size size, const MotionOptions& options) {
  const double heading = random.Uniform(0, 2 * std::numbers::pi);
  const double turn = options.spin * random.Bell();
  const double zoom = std::exp(options.spin * random.Bell());
  const double x = random.Uniform(0, size.width);
  const double y = random.Uniform(0, size.height);
  const double c = zoom * std::cos(turn);
  const double s = zoom * std::sin(turn);
  const Motion flat(c, -s, x - c * x + s * y + options.shift * std::cos(heading),       //
                    s, c, y - s * x - c * y + 0.7 * options.shift * std::sin(heading),  //
                    0, 0, 1);
  const double tilt_x = options.tilt * random.Bell();
  const double tilt_y = options.tilt * random.Bell();
  const Motion tilted(1, 0, 0, 0, 1, 0, tilt_x, tilt_y, 1);
  const Motion from_centre(1, 0, size.width / 2.0, 0, 1, size.height / 2.0, 0, 0, 1);
  return flat * from_centre * tilted * from_centre.inv();
}

// ---------------------------------------------------------------------------------- Outlines --

using Outline = std::vector<cv::Point>;

cv::Point Oversampled(cv::Point2d point) {
  return {static_cast<int>(point.x * kOversampling), static_cast<int>(point.y * kOversampling)};
}

Outline Polygon(Random& random, cv::Point2d centre, double size) {
  std::vector<double> angles(3 + Whole(random, 6));
  for (double& angle : angles) angle = random.Uniform(0, 2 * std::numbers::pi);
  std::ranges::sort(angles);
  Outline outline;
  for (const double angle : angles) {
    const double radius = size * random.Uniform(0.4, 1.2);
    outline.push_back(Oversampled(centre + radius * cv::Point2d(std::cos(angle), std::sin(angle))));
  }
  return outline;
}

Outline Blob(Random& random, cv::Point2d centre, double size) {
  constexpr int kPoints = 60;
  constexpr int kWaves = 4;
  double strengths[kWaves];
  double phases[kWaves];
  for (int wave = 0; wave < kWaves; ++wave) {
    strengths[wave] = size * 0.5 / (wave + 2) * random.Bell();
    phases[wave] = random.Uniform(0, 2 * std::numbers::pi);
  }
  const double stretch = random.Uniform(0.5, 1.5);
  Outline outline;
  for (int i = 0; i < kPoints; ++i) {
    const double angle = 2 * std::numbers::pi * i / kPoints;
    double radius = 0.7 * size;
    for (int wave = 0; wave < kWaves; ++wave) {
      radius += strengths[wave] * std::cos((wave + 2) * angle + phases[wave]);
    }
    outline.push_back(
        Oversampled(centre + radius * cv::Point2d(std::cos(angle), stretch * std::sin(angle))));
  }
  return outline;
}

void DrawEllipse(Random& random, cv::Point2d centre, double size, cv::Mat& cover) {
  const double width = size * random.Uniform(0.3, 1);
  const double height = size * random.Uniform(0.3, 1);
  cv::ellipse(cover, Oversampled(centre), Oversampled({width, height}), random.Uniform(0, 180), 0,
              360, cv::Scalar(255), cv::FILLED);
}

void DrawBars(Random& random, cv::Point2d centre, double size, cv::Mat& cover) {
  const int bars = 1 + Whole(random, 3);
  for (int i = 0; i < bars; ++i) {
    const double x = centre.x + 0.5 * size * random.Bell();
    const cv::Point2d middle(x, centre.y + 0.5 * size * random.Bell());
    const double angle = random.Uniform(0, std::numbers::pi);
    const cv::Point2d half = 1.5 * size * cv::Point2d(std::cos(angle), std::sin(angle));
    cv::line(cover, Oversampled(middle - half), Oversampled(middle + half), cv::Scalar(255),
             static_cast<int>(kOversampling * random.Uniform(2, 10)));
  }
}

// How much of each pixel a thing covers, 0..1.
cv::Mat DrawCover(Random& random, cv::Size size) {
  cv::Mat large = cv::Mat::zeros(size * kOversampling, CV_8U);
  const double x = size.width * random.Uniform(-0.05, 1.05);
  const cv::Point2d centre(x, size.height * random.Uniform(-0.05, 1.05));
  const double extent = size.width * LogUniform(random, kMinThing, kMaxThing);
  switch (Whole(random, 4)) {
    case 0:
      DrawEllipse(random, centre, extent, large);
      break;
    case 1:
      cv::fillPoly(large, Polygon(random, centre, extent), cv::Scalar(255));
      break;
    case 2:
      cv::fillPoly(large, Blob(random, centre, extent), cv::Scalar(255));
      break;
    default:
      DrawBars(random, centre, extent, large);
  }
  cv::Mat cover;
  cv::resize(large, cover, size, 0, 0, cv::INTER_AREA);
  cover.convertTo(cover, CV_32F, 1.0 / 255);
  return cover;
}

// ------------------------------------------------------------------------------------- Layers --

// A piece of a photograph with margins, with another contrast and brightness.
cv::Mat DrawTexture(Random& random, cv::Size size, std::span<const Photograph> photographs) {
  const Photograph& photograph = photographs[Whole(random, static_cast<int>(photographs.size()))];
  // OpenCV requires writable bytes, but only reads them here.
  const cv::Mat whole(photograph.height, photograph.width, CV_8U,
                      const_cast<std::uint8_t*>(photograph.grey.data()));
  const cv::Size wanted(size.width + 2 * kMargin, size.height + 2 * kMargin);
  const double covering_scale = std::max(static_cast<double>(wanted.width) / whole.cols,
                                         static_cast<double>(wanted.height) / whole.rows);
  const double scale =
      covering_scale < 1 ? covering_scale * random.Uniform(1, 1.6) : covering_scale;
  cv::Mat scaled;
  cv::resize(whole, scaled,
             {std::max(wanted.width, static_cast<int>(scale * whole.cols)),
              std::max(wanted.height, static_cast<int>(scale * whole.rows))},
             0, 0, scale < 1 ? cv::INTER_AREA : cv::INTER_CUBIC);
  const int left = Whole(random, scaled.cols - wanted.width + 1);
  const int top = Whole(random, scaled.rows - wanted.height + 1);
  cv::Mat piece = scaled(cv::Rect(left, top, wanted.width, wanted.height));
  if (random.Chance(0.5)) cv::flip(piece, piece, 1);
  const double contrast = random.Uniform(0.5, 1.2);
  const double brightness = random.Uniform(90, 165);
  cv::Mat texture;
  piece.convertTo(texture, CV_32F, contrast, brightness - 128 * contrast);
  return cv::max(cv::min(texture, 255), 0);
}

struct SceneLayer {
  cv::Mat texture;
  cv::Mat cover;  // Empty: everywhere.
  Motion motion;
};

std::vector<SceneLayer> DrawLayers(Random& random, cv::Size size,
                                   std::span<const Photograph> photographs) {
  const double speed = LogUniform(random, kSlowest, kFastest) * size.width / kReferenceWidth;
  const bool still = random.Chance(kStillShare);
  const Motion of_camera =
      still
          ? Motion::eye()
          : DrawMotion(
                random, size,
                {.shift = speed * random.Uniform(0, 1), .spin = speed / 300, .tilt = 2e-5 * speed});
  std::vector<SceneLayer> layers = {
      {.texture = DrawTexture(random, size, photographs), .cover = {}, .motion = of_camera}};
  const int things = Whole(random, kMaxThings + 1);
  for (int i = 0; i < things; ++i) {
    const bool with_camera = random.Chance(0.7);
    const Motion own = DrawMotion(random, size,
                                  {.shift = speed * random.Uniform(0.1, 1.5),
                                   .spin = 0.02 * std::min(speed, 4.0) / 3,
                                   .tilt = 1e-5 * speed});
    cv::Mat texture = DrawTexture(random, size, photographs);
    cv::Mat cover = DrawCover(random, size);
    layers.push_back({.texture = std::move(texture),
                      .cover = std::move(cover),
                      .motion = with_camera ? Motion(own * of_camera) : own});
  }
  return layers;
}

// Both pictures, and what each pixel shows.
struct Drawn {
  cv::Mat pictures[2];  // Grey levels, float.
  cv::Mat labels[2];    // The layer of each pixel.
};

void Lay(const cv::Mat& texture, const cv::Mat& cover, int label, int moment, Drawn& drawn) {
  cv::Mat& picture = drawn.pictures[moment];
  if (cover.empty()) {
    texture.copyTo(picture);
  } else {
    picture += cover.mul(texture - picture);
  }
  cv::Mat shown = cover.empty() ? cv::Mat(texture.size(), CV_8U, cv::Scalar(255)) : cover > 0.5;
  drawn.labels[moment].setTo(label, shown);
}

Drawn Draw(std::span<const SceneLayer> layers, cv::Size size) {
  Drawn drawn;
  for (cv::Mat& labels : drawn.labels) labels = cv::Mat::zeros(size, CV_8U);
  const Motion out_of_margin(1, 0, -kMargin, 0, 1, -kMargin, 0, 0, 1);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& [texture, cover, motion] = layers[i];
    const int label = static_cast<int>(i);
    Lay(texture(cv::Rect({kMargin, kMargin}, size)), cover, label, 0, drawn);
    cv::Mat moved;
    cv::warpPerspective(texture, moved, motion * out_of_margin, size, cv::INTER_CUBIC,
                        cv::BORDER_REFLECT);
    cv::Mat cover_then;
    if (!cover.empty()) cv::warpPerspective(cover, cover_then, motion, size, cv::INTER_LINEAR);
    Lay(moved, cover_then, label, 1, drawn);
  }
  return drawn;
}

// -------------------------------------------------------------------------------- The camera --

void AddFaults(Random& random, Drawn& drawn) {
  cv::Mat& last = drawn.pictures[1];
  if (random.Chance(0.3)) {
    const double blur = random.Uniform(0.4, 1.2);
    for (cv::Mat& picture : drawn.pictures) cv::GaussianBlur(picture, picture, {0, 0}, blur);
  }
  if (random.Chance(0.3)) {  // Another exposure.
    const double gain = random.Uniform(0.93, 1.07);
    last = last * gain + 3 * random.Bell();
  }
  if (random.Chance(0.1)) {  // Lamps that flicker, seen line by line.
    const double wave = random.Uniform(0.02, 0.2);
    const double phase = random.Uniform(0, 2 * std::numbers::pi);
    const double strength = random.Uniform(0, 5);
    for (int y = 0; y < last.rows; ++y) last.row(y) += strength * std::sin(y * wave + phase);
  }
  const double noise = random.Chance(0.7) ? random.Uniform(0, 4) : 0;
  for (cv::Mat& picture : drawn.pictures) {
    for (auto value = picture.begin<float>(); value != picture.end<float>(); ++value) {
      *value += static_cast<float>(noise * random.Bell());
    }
  }
}

std::vector<std::uint8_t> BytesOf(const cv::Mat& picture) {
  cv::Mat bytes;
  picture.convertTo(bytes, CV_8U);
  return {bytes.data, bytes.data + bytes.total()};
}

// Where a pixel of `motion` goes.
cv::Point2d Moved(const Motion& motion, int x, int y) {
  const cv::Vec3d now = motion * cv::Vec3d(x, y, 1);
  return {now[0] / now[2], now[1] / now[2]};
}

void WriteTruth(std::span<const SceneLayer> layers, const Drawn& drawn, GeneratedPair& pair) {
  const cv::Mat& before = drawn.labels[0];
  const cv::Mat& now = drawn.labels[1];
  float* const dx = pair.flow.mutable_data_ptr<float>();
  float* const dy = dx + before.total();
  auto* const visible = pair.visible.mutable_data_ptr<std::uint8_t>();
  for (int y = 0; y < before.rows; ++y) {
    for (int x = 0; x < before.cols; ++x) {
      const std::size_t i = static_cast<std::size_t>(y) * before.cols + x;
      const std::uint8_t label = before.at<std::uint8_t>(y, x);
      const cv::Point2d place = Moved(layers[label].motion, x, y);
      dx[i] = static_cast<float>(place.x - x);
      dy[i] = static_cast<float>(place.y - y);
      const cv::Point pixel(cvRound(place.x), cvRound(place.y));
      visible[i] =
          pixel.inside(cv::Rect({0, 0}, now.size())) && now.at<std::uint8_t>(pixel) == label ? 1
                                                                                             : 0;
    }
  }
}

// Numbers of one seed and pair that resemble no other's (SplitMix64).
std::uint64_t Mixed(std::uint64_t seed, std::int64_t number) {
  std::uint64_t z = seed + (static_cast<std::uint64_t>(number) + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

PhotoScenes::PhotoScenes(const Options& options, std::vector<Photograph> photographs)
    : options_(options), photographs_(std::move(photographs)) {
  constexpr int kMinSide = 64;
  constexpr int kMinPhotograph = 16;
  MILLRACE_CHECK(options.width >= kMinSide && options.height >= kMinSide);
  MILLRACE_CHECK(!photographs_.empty());
  for (const Photograph& one : photographs_) {
    MILLRACE_CHECK(one.width >= kMinPhotograph && one.height >= kMinPhotograph);
    MILLRACE_CHECK(one.grey.size() == static_cast<std::size_t>(one.width) * one.height);
  }
}

GeneratedPair PhotoScenes::Make(std::int64_t number) const {
  Random random(Mixed(options_.seed, number));
  const cv::Size size(options_.width, options_.height);
  const std::vector<SceneLayer> layers = DrawLayers(random, size, photographs_);
  Drawn drawn = Draw(layers, size);
  AddFaults(random, drawn);
  GeneratedPair pair = PairOf(GeneratedPair::Kind::kMotion, BytesOf(drawn.pictures[0]),
                              BytesOf(drawn.pictures[1]), size.width);
  WriteTruth(layers, drawn, pair);
  return pair;
}

}  // namespace millrace::pipeline
