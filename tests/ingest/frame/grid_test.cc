#include "ingest/frame/grid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <vector>

namespace millrace::ingest {

// NOLINTNEXTLINE(readability-identifier-naming): googletest looks for it.
void PrintTo(const Extent& extent, std::ostream* out) {
  *out << extent.width << "x" << extent.height;
}

namespace {

// Cameras as they are sold. 768x576 is a PAL camera's 704x576 or 720x576 in square pixels.
constexpr Extent kCameras[] = {
    {320, 240},   {352, 240},   {352, 288},   {640, 360},   {640, 480},   {704, 480},
    {768, 576},   {800, 600},   {1024, 768},  {1280, 720},  {1280, 960},  {1280, 1024},
    {1600, 1200}, {1920, 1080}, {2048, 1536}, {2304, 1296}, {2560, 1440}, {2560, 1920},
    {2592, 1944}, {2688, 1520}, {2880, 1620}, {3072, 1728}, {3072, 2048}, {3840, 2160},
    {4000, 3000}, {1080, 1920}, {720, 1280},  {2160, 2160}, {3840, 1080}, {4512, 2512}};

double KeptShare(const Extent& camera, const Extent& grid) {
  const double scale = ViewOf(camera, grid).scale;
  return scale * grid.width * scale * grid.height / (1.0 * camera.width * camera.height);
}

TEST(GridForTest, HasTheShapeOfTheCamera) {
  const struct {
    Extent camera;
    Extent grid;
  } cases[] = {{{1920, 1080}, {400, 224}}, {{2560, 1440}, {400, 224}}, {{3840, 2160}, {400, 224}},
               {{2304, 1296}, {400, 224}}, {{1280, 960}, {320, 240}},  {{640, 480}, {320, 240}},
               {{768, 576}, {320, 240}},   {{1080, 1920}, {224, 400}}, {{2592, 1944}, {320, 240}},
               {{4000, 3000}, {320, 240}}, {{352, 288}, {352, 288}},   {{2160, 2160}, {304, 304}}};
  for (const auto& [camera, grid] : cases) {
    EXPECT_EQ(GridFor(camera), grid) << camera.width << "x" << camera.height;
  }
}

TEST(GridForTest, KeepsNearlyAllOfEveryCamerasPictureAtAboutTheSameCost) {
  for (const Extent& camera : kCameras) {
    SCOPED_TRACE(testing::Message() << camera.width << "x" << camera.height);
    const Extent grid = GridFor(camera);
    EXPECT_EQ(grid.width % 16, 0);
    EXPECT_EQ(grid.height % 16, 0);
    EXPECT_GT(KeptShare(camera, grid), 0.98);
    const double cost = grid.width * grid.height / (352.0 * 256);
    EXPECT_GT(cost, 0.8);
    EXPECT_LT(cost, 1.2);
  }
}

TEST(GridForTest, FollowsTheNetworksMultiples) {
  for (const int multiple : {32, 64}) {
    for (const Extent& camera : kCameras) {
      const Extent grid = GridFor(camera, {.size_multiple = multiple});
      EXPECT_EQ(grid.width % multiple, 0);
      EXPECT_EQ(grid.height % multiple, 0);
      EXPECT_GT(KeptShare(camera, grid), 0.8) << camera.width << "x" << camera.height;
    }
  }
}

TEST(GridForTest, IsNoLargerThanASmallPictureWhereTheNetworkAllows) {
  EXPECT_EQ(GridFor({192, 144}), (Extent{192, 144}));
  EXPECT_EQ(GridFor({16, 16}), (Extent{64, 64}));
}

TEST(ViewOfTest, HasOneFactorAndCropsEvenly) {
  const GridView view = ViewOf({768, 576}, {352, 256});
  EXPECT_DOUBLE_EQ(view.scale, 768.0 / 352);
  EXPECT_DOUBLE_EQ(view.left, 0);
  EXPECT_DOUBLE_EQ(view.top, (576 - 256 * 768.0 / 352) / 2);
}

TEST(CoveringSizeTest, CoversTheGridInTheCamerasShape) {
  for (const Extent& camera : kCameras) {
    for (const Extent& grid : {GridFor(camera), Extent{352, 256}, Extent{64, 512}}) {
      const Extent covering = CoveringSize(camera, grid);
      EXPECT_TRUE(covering.width == grid.width || covering.height == grid.height);
      EXPECT_GE(covering.width, grid.width);
      EXPECT_GE(covering.height, grid.height);
      const double factors =
          (1.0 * camera.width / covering.width) / (1.0 * camera.height / covering.height);
      EXPECT_NEAR(factors, 1, 0.005) << camera.width << "x" << camera.height;
    }
  }
}

}  // namespace
}  // namespace millrace::ingest
