#include "ingest/frame/grid.h"

#include <algorithm>
#include <cmath>

namespace millrace::ingest {
namespace {

/// The distance of a grid from the wanted shape and area; 0: equal. A shape that differs by a tenth
/// counts as much as an area that differs by a factor of e. Cropped pixels are lost, but the cost
/// may vary.
double Distance(const Extent& grid, double aspect, double area) {
  constexpr double kWeightOfArea = 0.1;
  const double width = grid.width;
  const double height = grid.height;
  return std::abs(std::log(width / height / aspect)) +
         kWeightOfArea * std::abs(std::log(width * height / area));
}

}  // namespace

GridView ViewOf(const Extent& camera, const Extent& grid) {
  const double scale = std::min(static_cast<double>(camera.width) / grid.width,
                                static_cast<double>(camera.height) / grid.height);
  return {.scale = scale,
          .left = (camera.width - scale * grid.width) / 2,
          .top = (camera.height - scale * grid.height) / 2};
}

Extent CoveringSize(const Extent& camera, const Extent& grid) {
  const double scale = ViewOf(camera, grid).scale;
  return {.width = std::max(grid.width, static_cast<int>(std::lround(camera.width / scale))),
          .height = std::max(grid.height, static_cast<int>(std::lround(camera.height / scale)))};
}

Extent GridFor(const Extent& camera, const GridRules& rules) {
  const int step = rules.size_multiple;
  const int min_side = (rules.min_side + step - 1) / step * step;
  const double aspect = static_cast<double>(camera.width) / camera.height;
  const double area =
      std::min<double>(rules.area, static_cast<double>(camera.width) * camera.height);
  Extent best = {.width = min_side, .height = min_side};
  for (int width = min_side; width <= rules.max_side; width += step) {
    for (int height = min_side; height <= rules.max_side; height += step) {
      const Extent grid = {.width = width, .height = height};
      if (Distance(grid, aspect, area) < Distance(best, aspect, area)) best = grid;
    }
  }
  return best;
}

}  // namespace millrace::ingest
