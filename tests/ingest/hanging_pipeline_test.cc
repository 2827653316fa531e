// Pipelines of which an element never comes back from a change of its state.
#include <gmock/gmock.h>
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "ingest/abandoned_pipelines.h"
#include "ingest/camera_source.h"
#include "ingest/gst_pipeline.h"
#include "ingest/gstreamer.h"
#include "ingest/listener_gate.h"
#include "tests/ingest/camera_tests.h"
#include "tests/ingest/logged.h"
#include "tests/ingest/media.h"

namespace millrace::ingest {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// What keeps the elements of this test from going to NULL.
class Obstacle {
 public:
  void Raise() {
    const std::scoped_lock lock(mu_);
    raised_ = true;
  }
  void Clear() {
    const std::scoped_lock lock(mu_);
    raised_ = false;
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [this] { return !raised_; });
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  bool raised_ = false;
};

Obstacle& TheObstacle() {
  static auto* const obstacle = new Obstacle;
  return *obstacle;
}

GstStateChangeReturn ChangeState(GstElement* element, GstStateChange change) {
  if (change == GST_STATE_CHANGE_READY_TO_NULL) TheObstacle().Pass();
  auto* const parent = GST_ELEMENT_CLASS(g_type_class_peek(GST_TYPE_ELEMENT));
  return parent->change_state(element, change);
}

void DefineClass(gpointer its_class, gpointer /*data*/) {
  auto* const element = GST_ELEMENT_CLASS(its_class);
  element->change_state = ChangeState;
  gst_element_class_set_static_metadata(element, "hangs", "Generic", "hangs", "a test");
}

/// Registers `millracehangs`, an element without pads, which stands in a pipeline and hangs.
void RegisterHangingElement() {
  InitializeGStreamer();
  static const GType type =
      g_type_register_static_simple(GST_TYPE_ELEMENT, "MillraceHangs", sizeof(GstElementClass),
                                    DefineClass, sizeof(GstElement), nullptr, GTypeFlags(0));
  gst_element_register(nullptr, "millracehangs", GST_RANK_NONE, type);
}

class HangingPipelineTest : public ::testing::Test {
 protected:
  HangingPipelineTest() { RegisterHangingElement(); }
  ~HangingPipelineTest() override {
    TheObstacle().Clear();
    WaitUntil([] { return CountAbandoned().hanging == 0; });
  }

  static PipelineOptions Pipeline(const std::string& owner) {
    return {.head =
                "millracehangs videotestsrc name=source is-live=true ! capsfilter "
                "caps=video/x-raw,width=64,height=64,framerate=100/1",
            .configure = nullptr,
            .width = 64,
            .height = 64,
            .owner = owner,
            .end = {.in_good_order = milliseconds(10), .in_all = milliseconds(50)}};
  }

  static SourceRequest Camera(const std::string& stream) {
    SourceRequest request;
    request.options = {.uri = "test:", .width = 64, .height = 64, .stream = stream};
    request.settings = Patient();
    request.settings.pause_after_hanging = request.settings.pause_with_too_many = milliseconds(1);
    request.shown = "test:";
    return request;
  }

  const std::int64_t abandoned_before_ = CountAbandoned().so_far;
};

/// Counts what it hears.
struct Listener final : PipelineListener {
  void OnFormat(const CameraFormat& /*format*/) override {}
  void OnPicture(DecodedPicture /*picture*/) override { ++pictures; }
  void OnWarning(const absl::Status& /*warning*/) override {}
  void OnOutcome(absl::Status /*outcome*/) override {}
  std::atomic<int> pictures = 0;
};

TEST_F(HangingPipelineTest, IsLeftBehindAfterItsLimitAndCountedUntilItEnds) {
  auto listener = std::make_unique<Listener>();
  auto pipeline = GstPicturePipeline::Create(Pipeline("door"), *listener);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  (*pipeline)->Play();
  WaitUntil([&] { return listener->pictures > 0; });
  TheObstacle().Raise();
  const Logged logged;
  EXPECT_FALSE((*pipeline)->End());
  EXPECT_FALSE((*pipeline)->End()) << "once and for all";
  pipeline->reset();
  listener.reset();
  EXPECT_EQ(HangingOf("door"), 1);
  EXPECT_EQ(CountAbandoned().hanging, 1);
  EXPECT_THAT(logged.text(), StartsWith("error stream 'door': its pipeline hangs"));
  TheObstacle().Clear();
  WaitUntil([] { return CountAbandoned().hanging == 0; });
  EXPECT_EQ(HangingOf("door"), 0);
  EXPECT_EQ(CountAbandoned().so_far, abandoned_before_ + 1);
}

TEST_F(HangingPipelineTest, OneThatEndsIsNotLeftBehind) {
  Listener listener;
  auto pipeline = GstPicturePipeline::Create(Pipeline("door"), listener);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  (*pipeline)->Play();
  EXPECT_TRUE((*pipeline)->End());
  EXPECT_EQ(CountAbandoned().so_far, abandoned_before_);
}

// Hangs, and is killed by the test's timeout, where Stop() waits for it.
TEST_F(HangingPipelineTest, ASourceStopsWhateverItsPipelineDoes) {
  CameraSource source(Camera("door"), Pipeline(""));
  ASSERT_TRUE(source.queue().Pop());
  TheObstacle().Raise();
  source.Stop();
  while (source.queue().Pop()) {
  }
  EXPECT_EQ(source.status().state, SourceState::kStopped);
  EXPECT_EQ(HangingOf("door"), 1);
}

// Its sessions show frames and are then given up, each with a pipeline that hangs.
TEST_F(HangingPipelineTest, ACameraIsTriedAgainUntilTooManyHangAndThenOnceOneHasEnded) {
  TheObstacle().Raise();
  PipelineOptions short_lived = Pipeline("");
  short_lived.head =
      "millracehangs videotestsrc name=source num-buffers=3 ! capsfilter "
      "caps=video/x-raw,width=64,height=64,framerate=100/1";
  CameraSource source(Camera("door"), short_lived);
  WaitUntil([] { return HangingOf("door") == kMostHangingOfOne; });
  WaitUntil([&] { return absl::IsResourceExhausted(source.status().cause); });
  EXPECT_THAT(Cause(source), HasSubstr("3 pipelines of earlier sessions hang in GStreamer"));
  EXPECT_EQ(HangingOf("door"), kMostHangingOfOne);
  EXPECT_TRUE(MayBegin("gate").ok()) << "another camera's do not hang";
  const std::uint64_t received = source.queue().received();
  TheObstacle().Clear();
  WaitUntil([&] { return source.queue().received() > received; });
}

TEST(ListenerGateTest, ClosesOnceItsListenerHasReturnedAndPassesNothingOnThen) {
  struct Slow final : PipelineListener {
    void OnFormat(const CameraFormat& /*format*/) override {}
    void OnPicture(DecodedPicture /*picture*/) override {
      ++begun;
      go_on.Pass();
      ++done;
    }
    void OnWarning(const absl::Status& /*warning*/) override {}
    void OnOutcome(absl::Status /*outcome*/) override {}
    Obstacle go_on;
    std::atomic<int> begun = 0;
    std::atomic<int> done = 0;
  } slow;
  slow.go_on.Raise();
  ListenerGate gate(slow);
  std::jthread inside([&] { gate.OnPicture({}); });
  WaitUntil([&] { return slow.begun == 1; });
  std::jthread clearing([&] { slow.go_on.Clear(); });
  gate.Close();
  EXPECT_EQ(slow.done, 1);
  gate.OnPicture({});
  EXPECT_EQ(slow.begun, 1);
}

}  // namespace
}  // namespace millrace::ingest
