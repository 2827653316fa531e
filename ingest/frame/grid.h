// The grid of pixels that a network sees, and its place over a camera's picture.
//
// The picture keeps its aspect ratio: x and y have the same scale between grid and camera. The
// parts of the picture outside the grid's shape are cropped, evenly on both sides.
//
//   camera 768x576                     grid 352x256: factor 2.182
//   ┌──────────────────────────┐
//   │ 8.7 rows are cropped     │
//   ├──────────────────────────┤
//   │ the grid                 │
//   ├──────────────────────────┤
//   │ 8.7 rows are cropped     │
//   └──────────────────────────┘
#pragma once

namespace millrace::ingest {

/// A size in square pixels.
struct Extent {
  int width = 0;
  int height = 0;

  friend bool operator==(const Extent&, const Extent&) = default;
};

/// A grid's place over a camera's picture. Pixel x of the grid covers the camera's columns from
/// left + scale * x to left + scale * (x + 1); rows likewise.
struct GridView {
  /// Camera pixels per grid pixel, in each direction.
  double scale = 1;
  double left = 0;
  double top = 0;
};

/// REQUIRES: all sides positive.
[[nodiscard]] GridView ViewOf(const Extent& camera, const Extent& grid);

/// The size to which the camera's whole picture is scaled, so that it just covers the grid.
/// REQUIRES: all sides positive.
[[nodiscard]] Extent CoveringSize(const Extent& camera, const Extent& grid);

/// A network's limits for its grid.
struct GridRules {
  /// Both sides are multiples of it.
  int size_multiple = 16;
  int min_side = 64;
  int max_side = 2048;
  /// Approximate number of pixels. The cost grows with it.
  int area = 352 * 256;
};

/// The grid with approximately `rules.area` pixels whose shape is nearest to the camera's. Smaller
/// if the camera's picture is smaller. REQUIRES: the camera's sides are positive.
[[nodiscard]] Extent GridFor(const Extent& camera, const GridRules& rules = {});

}  // namespace millrace::ingest
