#include "pipeline/generated_scene.h"

#include <algorithm>
#include <cmath>

namespace millrace::pipeline {
namespace {

// Fastest usual motion of the camera and of a thing, in pixels a frame.
constexpr double kCameraSpeed = 2.0;
constexpr double kThingSpeed = 3.0;
// Of the camera's zoom and roll: a share, and an angle, a frame.
constexpr double kZoomSpeed = 0.004;

}  // namespace

void GeneratedScene::Motion::Advance(Random& random, double memory) {
  before = now;
  const double kick = spread * std::sqrt(1 - memory * memory);
  speed = memory * speed + kick * Point(random.Normal(), random.Normal());
  now += speed;
}

double GeneratedScene::Thing::Cover(Point offset) const {
  const double x = offset.real() / half_width;
  const double y = offset.imag() / half_height;
  // Roughly the distance to the outline, in pixels.
  const double inside = (1 - std::hypot(x, y)) * std::min(half_width, half_height);
  return std::clamp(inside + 0.5, 0.0, 1.0);
}

GeneratedScene::GeneratedScene(const Options& options, Random& random)
    : options_(options),
      random_(random),
      contrast_(random.Uniform(0.15, 0.5)),
      brightness_(random.Uniform(0.35, 0.65)),
      middle_(options.width / 2.0, options.height / 2.0),
      wall_({.width = options.width * 3 / 2,
             .height = options.height * 3 / 2,
             .most_radius = options.height / 3.0,
             .contrast = contrast_,
             .brightness = brightness_},
            random),
      camera_{} {
  const bool still = random.Chance(options.still_share);
  const double pace = still ? 0 : random.Uniform(0.2, 1);
  camera_.place = {.now = middle_ * 1.5,
                   .before = middle_ * 1.5,
                   .speed = pace * kCameraSpeed * Point(random.Normal(), random.Normal()),
                   .spread = pace * kCameraSpeed};
  camera_.zoom = {.now = 0, .before = 0, .speed = 0, .spread = pace * kZoomSpeed};
  const int count = static_cast<int>(random.Uniform(3, 9));
  for (int i = 0; i < count; ++i) things_.push_back(MakeThing());
}

GeneratedScene::Thing GeneratedScene::MakeThing() const {
  // Small ones more often than large ones.
  const double half_width =
      options_.height * 0.025 * std::exp(random_.Uniform(0, 1) * random_.Uniform(0, 2.3));
  const double half_height = half_width * random_.Uniform(0.7, 3);
  const double speed = kThingSpeed * random_.Uniform(0, 1);
  const Point place(random_.Uniform(0, options_.width), random_.Uniform(0, options_.height));
  return {.texture = Texture({.width = static_cast<int>(2 * half_width) + 3,
                              .height = static_cast<int>(2 * half_height) + 3,
                              .most_radius = half_height,
                              .contrast = random_.Uniform(0.5, 1) * contrast_,
                              .brightness = brightness_ + contrast_ * random_.Uniform(-1, 1)},
                             random_),
          .center = {.now = place,
                     .before = place,
                     .speed = speed * Point(random_.Normal(), random_.Normal()),
                     .spread = speed},
          .half_width = half_width,
          .half_height = half_height};
}

void GeneratedScene::Advance() {
  camera_.zoom.Advance(random_);
  camera_.place.Advance(random_);
  for (Thing& thing : things_) {
    // One that is wholly out of the picture comes back on the other side, unseen in both places.
    const double x_range = options_.width + 2 * thing.half_width + 2;
    const double y_range = options_.height + 2 * thing.half_height + 2;
    const Point out = thing.center.now - middle_;
    if (std::abs(out.real()) > x_range / 2) thing.center.now -= std::copysign(x_range, out.real());
    if (std::abs(out.imag()) > y_range / 2) {
      thing.center.now -= Point(0, std::copysign(y_range, out.imag()));
    }
    thing.center.Advance(random_);
  }
}

std::vector<float> GeneratedScene::Draw() {
  std::vector<float> picture;
  picture.reserve(static_cast<std::size_t>(options_.width) * options_.height);
  const Point zoom = std::exp(camera_.zoom.now);
  for (int y = 0; y < options_.height; ++y) {
    for (int x = 0; x < options_.width; ++x) {
      picture.push_back(wall_.At(zoom * (Point(x, y) - middle_) + camera_.place.now));
    }
  }
  for (const Thing& thing : things_) DrawThing(thing, picture);
  for (float& value : picture) {
    value = std::clamp(value + static_cast<float>(options_.noise * random_.Normal()), 0.0F, 1.0F);
  }
  return picture;
}

void GeneratedScene::DrawThing(const Thing& thing, std::vector<float>& picture) const {
  const Point center = thing.center.now;
  const int left = std::max(0, static_cast<int>(center.real() - thing.half_width - 1));
  const int right =
      std::min(options_.width - 1, static_cast<int>(center.real() + thing.half_width + 1));
  const int top = std::max(0, static_cast<int>(center.imag() - thing.half_height - 1));
  const int bottom =
      std::min(options_.height - 1, static_cast<int>(center.imag() + thing.half_height + 1));
  for (int y = top; y <= bottom; ++y) {
    for (int x = left; x <= right; ++x) {
      const Point offset = Point(x, y) - center;
      const double cover = thing.Cover(offset);
      if (cover == 0) continue;
      float& value = picture[static_cast<std::size_t>(y) * options_.width + x];
      const float own = thing.texture.At(offset + Point(thing.half_width, thing.half_height));
      value = std::lerp(value, own, static_cast<float>(cover));
    }
  }
}

GeneratedScene::Point GeneratedScene::FlowAt(Point pixel) const {
  for (auto thing = things_.rbegin(); thing != things_.rend(); ++thing) {
    if (thing->Cover(pixel - thing->center.before) > 0.5) {
      return thing->center.now - thing->center.before;
    }
  }
  const Point wall = std::exp(camera_.zoom.before) * (pixel - middle_) + camera_.place.before;
  return (wall - camera_.place.now) / std::exp(camera_.zoom.now) + middle_ - pixel;
}

std::vector<float> GeneratedScene::FlowToHere() const {
  const std::size_t pixels = static_cast<std::size_t>(options_.width) * options_.height;
  std::vector<float> flow(2 * pixels);
  for (std::size_t i = 0; i < pixels; ++i) {
    const std::size_t row = i / options_.width;
    const std::size_t column = i % options_.width;
    const Point at(static_cast<double>(column), static_cast<double>(row));
    const Point motion = FlowAt(at);
    flow[i] = static_cast<float>(motion.real());
    flow[pixels + i] = static_cast<float>(motion.imag());
  }
  return flow;
}

}  // namespace millrace::pipeline
