#include "pipeline/scenes/generated_scene.h"

#include <algorithm>
#include <cmath>

namespace millrace::pipeline {
namespace {

using Point = std::complex<double>;

// The share of a speed that remains after a frame.
constexpr double kMemory = 0.9;
// Standard deviation of each coordinate of a camera's or thing's speed, for a mean visible motion
// of 1. Zoom and roll come on top.
constexpr double kSpreadForSpeed = 0.78;
// For zoom and roll per frame: a share of the picture's half diagonal for a speed of 1.
constexpr double kZoomForSpeed = 0.15;
// Pulls the zoom back to 1.
constexpr double kZoomSpring = 0.004;
// Half the width of the largest thing, as a share of the picture's height: three of them leave most
// of the wall visible.
constexpr double kMaxThing = 0.2;
// Standard deviation of a frame's noise, of 0 to 1: 1.5 grey levels, as of a sensor by daylight.
constexpr double kNoise = 0.006;

// std::complex leaves non-finite products and quotients to the compiler's library, so a quotient's
// last bits would depend on it.
Point Product(Point a, Point b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

Point Quotient(Point a, Point b) { return Product(a, std::conj(b)) / std::norm(b); }

// A value beyond -reach..reach starts again at the other end.
double Wrapped(double value, double reach) {
  if (value > reach) return -reach;
  return value < -reach ? reach : value;
}

}  // namespace

void GeneratedScene::Wanderer::ChangeSpeed(Random& random) {
  const double kick = spread * std::sqrt(1 - kMemory * kMemory);
  speed = kMemory * speed + kick * random.BellPoint();
}

double GeneratedScene::Thing::Cover(Point offset) const {
  const double x = offset.real() / half_width;
  const double y = offset.imag() / half_height;
  if (std::abs(x) > 2 || std::abs(y) > 2) return 0;
  // Approximately the distance to the outline, in pixels.
  const double inside = (1 - std::sqrt(x * x + y * y)) * std::min(half_width, half_height);
  return std::clamp(inside + 0.5, 0.0, 1.0);
}

void GeneratedScene::Camera::Advance(Random& random) {
  zoom.ChangeSpeed(random);
  zoom.speed -= kZoomSpring * (std::norm(zoom.now) - 1) * (zoom.spread > 0 ? 1 : 0);
  zoom.before = zoom.now;
  // Approximates a turn and stretch by exp(speed).
  zoom.now = Product(zoom.now, Quotient(1.0 + zoom.speed / 2.0, 1.0 - zoom.speed / 2.0));
  place.ChangeSpeed(random);
  place.before = place.now;
  place.now += Product(zoom.now, place.speed);
}

GeneratedScene::GeneratedScene(const Options& options, Random& random)
    : options_(options),
      random_(random),
      contrast_(random.Uniform(0.15, 0.5)),
      brightness_(random.Uniform(0.35, 0.65)),
      middle_(options.width / 2.0, options.height / 2.0),
      wall_({.width = static_cast<int>(options.width * options.wall),
             .height = static_cast<int>(options.height * options.wall),
             .max_radius = options.height / 3.0,
             .contrast = contrast_,
             .brightness = brightness_},
            random),
      camera_(MakeCamera()) {
  const int count = static_cast<int>(random.Uniform(options.min_things, options.max_things + 1));
  for (int i = 0; i < count; ++i) things_.push_back(MakeThing());
}

GeneratedScene::Camera GeneratedScene::MakeCamera() {
  const bool still = random_.Chance(options_.still_share);
  const double speed = still ? 0 : options_.speed * random_.Uniform(options_.min_pace, 1);
  const Point place = options_.wall * middle_;
  const double move_spread = kSpreadForSpeed * speed;
  const double zoom_spread = kZoomForSpeed * speed / std::sqrt(std::norm(middle_));
  Camera camera{.zoom = {.now = 1, .before = 1, .speed = 0, .spread = zoom_spread},
                .place = {.now = place, .before = place, .speed = 0, .spread = move_spread}};
  camera.zoom.speed = zoom_spread * random_.BellPoint();
  camera.place.speed = move_spread * random_.BellPoint();
  return camera;
}

GeneratedScene::Thing GeneratedScene::MakeThing() {
  // Small things are more likely than large ones.
  const double small = 1 / options_.min_thing;
  const double large = 1 / kMaxThing;
  const double half_width = options_.height / random_.Uniform(large, small);
  const double half_height = half_width * random_.Uniform(0.7, 2);
  const double spread = kSpreadForSpeed * options_.speed * random_.Uniform(options_.min_pace, 1);
  const double x = random_.Uniform(0, options_.width);
  const Point place(x, random_.Uniform(0, options_.height));
  const Point speed = spread * random_.BellPoint();
  const double contrast = random_.Uniform(0.5, 1) * contrast_;
  const double brightness = brightness_ + contrast_ * random_.Uniform(-1, 1);
  return {.texture = Texture({.width = static_cast<int>(2 * half_width) + 3,
                              .height = static_cast<int>(2 * half_height) + 3,
                              .max_radius = half_height,
                              .contrast = contrast,
                              .brightness = brightness},
                             random_),
          .center = {.now = place, .before = place, .speed = speed, .spread = spread},
          .half_width = half_width,
          .half_height = half_height};
}

void GeneratedScene::Advance() {
  camera_.Advance(random_);
  for (Thing& thing : things_) AdvanceThing(thing);
}

void GeneratedScene::AdvanceThing(Thing& thing) {
  Wanderer& center = thing.center;
  center.ChangeSpeed(random_);
  // A thing completely outside the picture returns on the other side; it is invisible in both
  // places.
  const Point out = center.now - middle_;
  center.before = middle_ + Point(Wrapped(out.real(), middle_.real() + thing.half_width + 1),
                                  Wrapped(out.imag(), middle_.imag() + thing.half_height + 1));
  center.now = center.before + center.speed;
}

GeneratedScene::Box GeneratedScene::BoxOf(const Thing& thing, Moment moment) const {
  const Point center = thing.center.at(moment);
  const double across = thing.half_width + 1;
  const double along = thing.half_height + 1;
  return {.left = std::max(0, static_cast<int>(center.real() - across)),
          .right = std::min(options_.width - 1, static_cast<int>(center.real() + across)),
          .top = std::max(0, static_cast<int>(center.imag() - along)),
          .bottom = std::min(options_.height - 1, static_cast<int>(center.imag() + along))};
}

std::vector<std::uint8_t> GeneratedScene::Draw() {
  const Point zoom = camera_.zoom.now;
  const Point place = camera_.place.now;
  std::vector<float> grey;
  grey.reserve(static_cast<std::size_t>(options_.width) * options_.height);
  for (int y = 0; y < options_.height; ++y) {
    for (int x = 0; x < options_.width; ++x) {
      grey.push_back(wall_.At(Product(zoom, Point(x, y) - middle_) + place));
    }
  }
  for (const Thing& thing : things_) DrawThing(thing, grey);
  std::vector<std::uint8_t> picture;
  picture.reserve(grey.size());
  for (const float value : grey) {
    const double noisy = value + kNoise * random_.Bell();
    picture.push_back(static_cast<std::uint8_t>(std::lround(std::clamp(noisy, 0.0, 1.0) * 255)));
  }
  return picture;
}

void GeneratedScene::DrawThing(const Thing& thing, std::vector<float>& picture) const {
  const Point center = thing.center.now;
  const Box box = BoxOf(thing, Moment::kNow);
  for (int y = box.top; y <= box.bottom; ++y) {
    for (int x = box.left; x <= box.right; ++x) {
      const Point offset = Point(x, y) - center;
      const auto cover = static_cast<float>(thing.Cover(offset));
      if (cover == 0) continue;
      float& value = picture[static_cast<std::size_t>(y) * options_.width + x];
      const float own = thing.texture.At(offset + Point(thing.half_width, thing.half_height));
      value += cover * (own - value);
    }
  }
}

int GeneratedScene::LabelAt(Point pixel, Moment moment) const {
  for (std::size_t i = things_.size(); i > 0; --i) {
    const Thing& thing = things_[i - 1];
    if (thing.Cover(pixel - thing.center.at(moment)) > 0.5) return static_cast<int>(i);
  }
  return 0;
}

std::vector<std::uint8_t> GeneratedScene::LabelsAt(Moment moment) const {
  std::vector<std::uint8_t> labels(static_cast<std::size_t>(options_.width) * options_.height);
  for (std::size_t i = 0; i < things_.size(); ++i) {
    const Box box = BoxOf(things_[i], moment);
    for (int y = box.top; y <= box.bottom; ++y) {
      for (int x = box.left; x <= box.right; ++x) {
        if (things_[i].Cover(Point(x, y) - things_[i].center.at(moment)) <= 0.5) continue;
        labels[static_cast<std::size_t>(y) * options_.width + x] = static_cast<std::uint8_t>(i + 1);
      }
    }
  }
  return labels;
}

std::vector<std::uint8_t> GeneratedScene::Labels() const { return LabelsAt(Moment::kNow); }

GeneratedScene::Motion GeneratedScene::MotionToHere() const {
  // The wall's point at pixel p, zoom_before p + place_before, now appears at pixel turn p + shift.
  const Point turn = Quotient(camera_.zoom.before, camera_.zoom.now);
  const Point shift = Quotient(camera_.place.before - camera_.place.now, camera_.zoom.now);
  const std::vector<std::uint8_t> labels = LabelsAt(Moment::kBefore);
  Motion motion{.flow = std::vector<float>(2 * labels.size()),
                .visible = std::vector<std::uint8_t>(labels.size())};
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::size_t column = i % options_.width;
    const std::size_t row = i / options_.width;
    const Point pixel(static_cast<double>(column), static_cast<double>(row));
    const int label = labels[i];
    const Point flow = label == 0
                           ? Product(turn - 1.0, pixel - middle_) + shift
                           : things_[label - 1].center.now - things_[label - 1].center.before;
    motion.flow[i] = static_cast<float>(flow.real());
    motion.flow[labels.size() + i] = static_cast<float>(flow.imag());
    const Point match = pixel + flow;
    const bool inside = match.real() >= 0 && match.real() <= options_.width - 1 &&
                        match.imag() >= 0 && match.imag() <= options_.height - 1;
    motion.visible[i] = inside && LabelAt(match, Moment::kNow) == label ? 1 : 0;
  }
  return motion;
}

}  // namespace millrace::pipeline
