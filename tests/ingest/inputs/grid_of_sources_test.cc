// The frames of every kind of source have the camera's shape: a circle stays a circle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "ingest/frame/grid.h"
#include "ingest/inputs/open_source.h"
#include "ingest/pictures/picture_maker.h"
#include "tests/ingest/support/media.h"

namespace millrace::ingest {
namespace {

/// How much wider than high the white thing in a black picture is. A circle: 1.
double AspectOfWhite(const Picture& picture) {
  constexpr double kBlack = 40;  // And what compression makes of it.
  double mass = 0, x_sum = 0, y_sum = 0, xx_sum = 0, yy_sum = 0;
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      const std::size_t at = (static_cast<std::size_t>(y) * picture.width + x) * 3;
      const double weight = std::max(0.0, picture.rgb[at] - kBlack);
      mass += weight;
      x_sum += weight * x;
      y_sum += weight * y;
      xx_sum += weight * x * x;
      yy_sum += weight * y * y;
    }
  }
  const double x_spread = xx_sum / mass - x_sum / mass * x_sum / mass;
  const double y_spread = yy_sum / mass - y_sum / mass * y_sum / mass;
  return std::sqrt(x_spread / y_spread);
}

std::string BallOf(const Extent& size, const std::string& pixel_aspect) {
  return absl::StrCat("videotestsrc pattern=ball num-buffers=2 ! video/x-raw,width=", size.width,
                      ",height=", size.height, ",framerate=30/1,pixel-aspect-ratio=", pixel_aspect);
}

TEST(GridOfSourcesTest, ACircleStaysACircleWhateverTheShapesOfCameraAndGrid) {
  const struct {
    Extent camera;
    const char* pixel_aspect;
    double aspect;  // Of what is a circle in the camera's own pixels.
  } cameras[] = {{{384, 288}, "1/1", 1.0},
                 {{320, 180}, "1/1", 1.0},
                 {{180, 320}, "1/1", 1.0},
                 {{352, 288}, "12/11", 12.0 / 11},
                 {{360, 240}, "8/9", 8.0 / 9}};
  const TemporaryFolder folder;
  for (const auto& camera : cameras) {
    const std::string path = absl::StrCat(folder / "ball-", camera.camera.width, ".mp4");
    RunPipeline(
        absl::StrCat(BallOf(camera.camera, camera.pixel_aspect),
                     " ! x264enc speed-preset=ultrafast ! mp4mux ! filesink location=", path));
    for (const Extent& grid : {Extent{352, 256}, Extent{400, 224}, Extent{224, 400}}) {
      SCOPED_TRACE(testing::Message() << path << " to " << grid.width << "x" << grid.height);
      auto source = OpenSource({.uri = path, .width = grid.width, .height = grid.height});
      ASSERT_TRUE(source.ok()) << source.status();
      const Frame frame = (*source)->queue().Pop().value();
      EXPECT_EQ(frame.picture->width, grid.width);
      EXPECT_EQ(frame.picture->height, grid.height);
      EXPECT_NEAR(AspectOfWhite(*frame.picture), camera.aspect, 0.02);
    }
  }
}

TEST(GridOfSourcesTest, ThePicturesOfACameraAreMeasuredInSquarePixels) {
  const TemporaryFolder folder;
  RunPipeline(absl::StrCat(
      BallOf({704, 576}, "12/11"),
      " ! x264enc speed-preset=ultrafast ! mp4mux ! filesink location=", folder / "pal.mp4"));
  auto source = OpenSource({.uri = folder / "pal.mp4", .width = 64, .height = 48});
  ASSERT_TRUE(source.ok()) << source.status();
  ASSERT_TRUE((*source)->queue().Pop().has_value());
  EXPECT_EQ((*source)->status().camera_width, 768);
  EXPECT_EQ((*source)->status().camera_height, 576);
}

TEST(GridOfSourcesTest, ACircleStaysACircleInPicturesThatAreSent) {
  const Picture ball = TestPictures("pattern=ball", 1, 320, 180).front();
  for (const Extent& grid : {Extent{352, 256}, Extent{160, 96}, Extent{96, 160}}) {
    const auto made =
        PictureMaker(grid.width, grid.height)
            .FromPixels({.width = ball.width, .height = ball.height, .bytes = ball.rgb});
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_NEAR(AspectOfWhite(*made->picture), 1, 0.02) << grid.width << "x" << grid.height;
  }
}

// A camera that turns its picture upright begins a new epoch, in the shape that it has then.
TEST(GridOfSourcesTest, AnotherShapeInTheMiddleOfAStreamIsNotSquashed) {
  const TemporaryFolder folder;
  RunPipeline(absl::StrCat(BallOf({320, 180}, "1/1"),
                           " ! jpegenc ! multifilesink location=", folder / "a%d.jpg"));
  RunPipeline(absl::StrCat(BallOf({180, 320}, "1/1"),
                           " ! jpegenc ! multifilesink location=", folder / "b%d.jpg"));
  auto source = OpenSource({.uri = folder / "*.jpg", .width = 160, .height = 96});
  ASSERT_TRUE(source.ok()) << source.status();
  int frames = 0;
  while (const std::optional<Frame> frame = (*source)->queue().Pop()) {
    EXPECT_NEAR(AspectOfWhite(*frame->picture), 1, 0.03) << frame->number;
    ++frames;
  }
  EXPECT_EQ(frames, 4);
}

}  // namespace
}  // namespace millrace::ingest
