// A scene whose motion is known exactly: a camera before a textured wall, and things that move
// between them.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "pipeline/scenes/texture.h"

namespace millrace::pipeline {

/// A moment of a scene, which can move on to the next. Points are complex numbers: x + iy, in
/// pixels.
///
/// Not thread-safe. Borrows the generator for its lifetime. The same on every machine, as Texture
/// is.
class GeneratedScene {
 public:
  struct Options {
    int width = 0;
    int height = 0;
    /// Of the camera: how far the picture moves in a frame, in pixels, on average. Things are as
    /// fast.
    double speed = 2.75;
    /// The slowest camera, as a share of `speed`; between it and 1 all are as likely.
    double least_pace = 1;
    /// The share of scenes whose camera stands still.
    double still_share = 0;
    int least_things = 3;
    int most_things = 3;
    /// Half the width of the smallest and of the largest thing, as a share of the picture's height.
    double least_thing = 0.1;
    double most_thing = 0.2;
    /// How many times as wide and high as the picture the wall is, before it is mirrored.
    double wall = 3;
    /// Standard deviation of a frame's noise.
    double noise = 0.006;
  };

  /// The motion from the moment before to this one, indexed at the moment before.
  struct Motion {
    /// All dx, rows first, then all dy.
    std::vector<float> flow;
    /// 1 where what the moment before shows is in the picture now and nothing hides it, else 0.
    std::vector<std::uint8_t> visible;
  };

  GeneratedScene(const Options& options, Random& random);

  /// Moves everything on by one frame.
  void Advance();

  /// The grey picture of this moment, rows first, with noise of its own.
  [[nodiscard]] std::vector<std::uint8_t> Draw();

  /// What each pixel shows now, rows first: 0 the wall, else the number of a thing.
  [[nodiscard]] std::vector<std::uint8_t> Labels() const;

  /// REQUIRES: Advance() was called.
  [[nodiscard]] Motion MotionToHere() const;

 private:
  using Point = std::complex<double>;

  enum class Moment { kBefore, kNow };

  // Something that wanders: its speed keeps a constant spread and forgets itself slowly.
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

    // 1 inside, 0 outside, in between on the outline. `offset` is from the centre.
    [[nodiscard]] double Cover(Point offset) const;
  };

  // The camera: pixel p, counted from the picture's centre, shows the wall's point zoom p + place.
  struct Camera {
    // Its length is how much of the wall is seen, its direction the camera's roll.
    Wanderer zoom;
    // Its speed is in pixels of the picture.
    Wanderer place;

    void Advance(Random& random);
  };

  // The pixels of the picture that a thing may cover.
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
