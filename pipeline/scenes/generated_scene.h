// A scene with exactly known motion: a camera before a textured wall, and things that move between
// them.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "pipeline/scenes/texture.h"

namespace millrace::pipeline {

/// One moment of a scene, which can advance by frames. Points are complex numbers x + iy, in
/// pixels.
///
/// Not thread-safe. Borrows the generator for its lifetime. Identical on every machine, like
/// Texture.
class GeneratedScene {
 public:
  struct Options {
    int width = 0;
    int height = 0;
    /// The camera's mean motion in pixels per frame. Things are as fast.
    double speed = 2.75;
    /// The slowest camera, as a share of `speed`; the paces between it and 1 are equally likely.
    double min_pace = 1;
    /// The share of scenes with a fixed camera.
    double still_share = 0;
    int min_things = 3;
    int max_things = 3;
    /// Half the width of the smallest thing, as a share of the picture's height. The largest has
    /// 0.2.
    double min_thing = 0.1;
    /// The wall's size as a multiple of the picture's, before it is mirrored.
    double wall = 3;
  };

  /// The motion from the previous moment to this one, indexed at the previous moment.
  struct Motion {
    /// All dx, rows first, then all dy.
    std::vector<float> flow;
    /// 1 where the previous moment's pixel is in the current picture and not hidden, else 0.
    std::vector<std::uint8_t> visible;
  };

  GeneratedScene(const Options& options, Random& random);

  /// Moves everything by one frame.
  void Advance();

  /// The grey picture of this moment, rows first, with its own noise.
  [[nodiscard]] std::vector<std::uint8_t> Draw();

  /// The label of each pixel now, rows first: 0 for the wall, else the number of a thing.
  [[nodiscard]] std::vector<std::uint8_t> Labels() const;

  /// REQUIRES: Advance() was called.
  [[nodiscard]] Motion MotionToHere() const;

 private:
  using Point = std::complex<double>;

  enum class Moment { kBefore, kNow };

  // A random walk whose speed has a constant spread and changes slowly.
  struct Wanderer {
    Point now;
    Point before;
    Point speed;
    double spread;

    [[nodiscard]] Point at(Moment moment) const { return moment == Moment::kNow ? now : before; }
    void ChangeSpeed(Random& random);
  };

  struct Thing {
    Texture texture;
    Wanderer center;
    // Half its width and height.
    double half_width;
    double half_height;

    // 1 inside, 0 outside, in between at the outline. `offset` is from the centre.
    [[nodiscard]] double Cover(Point offset) const;
  };

  // The camera: pixel p, counted from the picture's centre, shows the wall's point zoom p + place.
  struct Camera {
    // Its length is the visible share of the wall; its direction is the camera's roll.
    Wanderer zoom;
    // Its speed is in pixels of the picture.
    Wanderer place;

    void Advance(Random& random);
  };

  // The pixels that a thing may cover.
  struct Box {
    int left;
    int right;
    int top;
    int bottom;
  };

  [[nodiscard]] Camera MakeCamera();
  [[nodiscard]] Thing MakeThing();
  void AdvanceThing(Thing& thing);
  [[nodiscard]] Box BoxOf(const Thing& thing, Moment moment) const;
  [[nodiscard]] int LabelAt(Point pixel, Moment moment) const;
  [[nodiscard]] std::vector<std::uint8_t> LabelsAt(Moment moment) const;
  void DrawThing(const Thing& thing, std::vector<float>& picture) const;

  const Options options_;
  Random& random_;
  const double contrast_;
  const double brightness_;
  const Point middle_;
  Texture wall_;
  Camera camera_;
  std::vector<Thing> things_;
};

}  // namespace millrace::pipeline
