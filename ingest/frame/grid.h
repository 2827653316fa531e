// The grid of pixels that a network sees, and how it lies over a camera's picture.
//
// A picture is never squashed: one factor leads from the grid to the camera, for x and for y. What
// the grid's shape leaves over of the picture is cropped, evenly on both sides.
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

/// Where a grid lies over a camera's picture: pixel x of the grid covers the camera's columns from
/// left + scale * x to left + scale * (x + 1), and likewise for rows.
struct GridView {
  /// Pixels of the camera that make one of the grid, in each direction.
  double scale = 1;
  double left = 0;
  double top = 0;
};

/// REQUIRES: all sides positive.
[[nodiscard]] GridView ViewOf(const Extent& camera, const Extent& grid);

/// The size to which the camera's whole picture is scaled, so that it just covers the grid.
/// REQUIRES: all sides positive.
[[nodiscard]] Extent CoveringSize(const Extent& camera, const Extent& grid);

/// What a network asks of its grid.
struct GridRules {
  /// Both sides are multiples of it.
  int size_multiple = 16;
  int least_side = 64;
  int most_side = 2048;
  /// Pixels that the grid has, about: its cost grows with them.
  int area = 352 * 256;
};

/// The grid whose shape is nearest to the camera's, of about the area that is asked for; smaller
/// where the camera's picture is. REQUIRES: the camera's sides are positive.
[[nodiscard]] Extent GridFor(const Extent& camera, const GridRules& rules = {});

}  // namespace millrace::ingest
