// A scene whose motion is known exactly: a camera before a textured wall, and things that move
// between them.
#pragma once

#include <complex>
#include <vector>

#include "pipeline/random.h"
#include "pipeline/texture.h"

namespace millrace::pipeline {

/// A moment of a scene, which can move on to the next. Points are complex numbers: x + iy, in
/// pixels.
///
/// Not thread-safe. Borrows the generator for its lifetime.
class GeneratedScene {
 public:
  struct Options {
    int width = 0;
    int height = 0;
    /// The share of scenes whose camera stands still.
    double still_share = 0.5;
    /// Standard deviation of a frame's noise.
    double noise = 0.006;
  };

  GeneratedScene(const Options& options, Random& random);

  /// Moves everything on by one frame.
  void Advance();

  /// The grey picture of this moment, rows first, in 0..1, with noise of its own.
  [[nodiscard]] std::vector<float> Draw();

  /// The motion from the moment before to this one, indexed at the moment before: all dx, rows
  /// first, then all dy. REQUIRES: Advance() was called.
  [[nodiscard]] std::vector<float> FlowToHere() const;

 private:
  using Point = std::complex<double>;

  // A number or point that wanders: its speed keeps a constant spread and forgets itself slowly.
  struct Motion {
    Point now;
    Point before;
    Point speed;
    double spread;

    void Advance(Random& random, double memory = 0.95);
  };

  struct Thing {
    Texture texture;
    Motion center;
    // Half its width and height.
    double half_width;
    double half_height;

    // 1 inside, 0 outside, in between on the outline. `offset` is from the centre.
    [[nodiscard]] double Cover(Point offset) const;
  };

  // The camera: pixel p, counted from the picture's centre, shows the wall's point zoom p + place.
  struct Camera {
    // Logarithm of the zoom; its imaginary part is the camera's roll.
    Motion zoom;
    Motion place;
  };

  [[nodiscard]] Thing MakeThing() const;
  void DrawThing(const Thing& thing, std::vector<float>& picture) const;
  [[nodiscard]] Point FlowAt(Point pixel) const;

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
