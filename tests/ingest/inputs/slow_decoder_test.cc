// A camera that sends more than this machine decodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "ingest/inputs/camera_source.h"
#include "ingest/source/uri.h"
#include "tests/ingest/support/camera_tests.h"
#include "tests/ingest/support/logged.h"

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A hundred pictures a second. Each takes `decode_us` behind a queue without a limit, like the
/// receiver of a camera's packets. Returns the log until 100 pictures have come.
std::string LoggedOf(const std::string& uri, int decode_us) {
  SourceRequest request;
  request.options = {.uri = uri, .width = 64, .height = 64, .stream = "door"};
  request.settings = Patient();
  request.settings.lag_window = std::chrono::milliseconds(200);
  request.uri = *ParseUri(uri);
  request.shown = uri;
  const PipelineOptions pipeline = {
      .head =
          "videotestsrc name=source is-live=true"
          " ! video/x-raw,width=64,height=64,framerate=100/1"
          " ! queue max-size-buffers=0 max-size-bytes=0 max-size-time=0"
          " ! identity sleep-time=" +
          std::to_string(decode_us),
      .configure = nullptr,
      .width = 64,
      .height = 64};
  const Logged logged;
  CameraSource source(request, pipeline);
  while (source.queue().received() < 100) static_cast<void>(source.queue().Pop());
  source.Stop();
  return logged.text();
}

TEST(SlowDecoderTest, ACameraThatSendsMoreThanIsDecodedIsSaid) {
  EXPECT_THAT(LoggedOf("rtsp://camera/1", 20'000),
              HasSubstr(" s late, and get later: it sends 100 a second of 64x64, and this machine "
                        "decodes "));
}

// It takes its own time for each picture, and sends no more.
TEST(SlowDecoderTest, ATestPictureIsNot) {
  EXPECT_THAT(LoggedOf("test:", 20'000), Not(HasSubstr("late")));
}

}  // namespace
}  // namespace millrace::ingest
