// Pipelines with an element that never returns from a change of its state.
#include <gmock/gmock.h>
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <thread>

#include "ingest/gst/gst_pipeline.h"
#include "ingest/gst/gstreamer.h"
#include "ingest/inputs/camera_source.h"
#include "ingest/source/abandoned_pipelines.h"
#include "ingest/source/listener_gate.h"
#include "tests/ingest/support/camera_tests.h"
#include "tests/ingest/support/logged.h"
#include "tests/ingest/support/media.h"

namespace millrace::ingest {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Keeps the elements of this test from the state NULL.
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
    ++before_;
    changed_.wait(lock, [this] { return !raised_; });
    --before_;
  }
  /// How many stand before it.
  [[nodiscard]] int before() {
    const std::scoped_lock lock(mu_);
    return before_;
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  bool raised_ = false;
  int before_ = 0;
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

  static PipelineOptions Pipeline(const EndLimits& end) {
    return {.head =
                "millracehangs videotestsrc name=source is-live=true ! capsfilter "
                "caps=video/x-raw,width=64,height=64,framerate=100/1",
            .configure = nullptr,
            .width = 64,
            .height = 64,
            .owner = kDoor,
            .end = end};
  }

  static SourceRequest Camera() {
    SourceRequest request;
    request.options = {.uri = "test:", .width = 64, .height = 64, .stream = kDoor.name};
    request.settings = Patient();
    request.settings.pause_after_hanging = request.settings.pause_with_too_many = milliseconds(1);
    request.settings.end = kOfOneThatHangs;
    request.shown = kDoor.place;
    return request;
  }

  static inline const PipelineOwner kDoor = {.name = "door", .place = "test:"};
  static constexpr EndLimits kOfOneThatHangs = {.in_good_order = milliseconds(10),
                                                .in_all = milliseconds(50)};
  static constexpr EndLimits kOfOneThatEnds = {.in_good_order = std::chrono::minutes(10),
                                               .in_all = std::chrono::minutes(20)};
  const std::int64_t abandoned_before_ = CountAbandoned().so_far;
};

/// Counts the pictures that it receives.
struct Listener final : PipelineListener {
  void OnFormat(const CameraFormat& /*format*/) override {}
  void OnPicture(DecodedPicture /*picture*/) override { ++pictures; }
  void OnWarning(const absl::Status& /*warning*/) override {}
  void OnOutcome(absl::Status /*outcome*/) override {}
  std::atomic<int> pictures = 0;
};

TEST_F(HangingPipelineTest, IsLeftBehindAfterItsLimitAndCountedUntilItEnds) {
  auto listener = std::make_unique<Listener>();
  auto pipeline = GstPicturePipeline::Create(Pipeline(kOfOneThatHangs), *listener);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  (*pipeline)->Play();
  WaitUntil([&] { return listener->pictures > 0; });
  TheObstacle().Raise();
  const Logged logged;
  EXPECT_FALSE((*pipeline)->End());
  EXPECT_FALSE((*pipeline)->End()) << "once and for all";
  pipeline->reset();
  listener.reset();
  EXPECT_EQ(HangingOf(kDoor), 1);
  EXPECT_EQ(CountAbandoned().hanging, 1);
  EXPECT_THAT(logged.text(), StartsWith("error stream 'door': its pipeline hangs"));
  TheObstacle().Clear();
  WaitUntil([] { return CountAbandoned().hanging == 0; });
  EXPECT_EQ(HangingOf(kDoor), 0);
  EXPECT_EQ(CountAbandoned().so_far, abandoned_before_ + 1);
}

TEST_F(HangingPipelineTest, OneThatEndsIsNotLeftBehind) {
  const Logged logged;
  Listener listener;
  auto pipeline = GstPicturePipeline::Create(Pipeline(kOfOneThatEnds), listener);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  (*pipeline)->Play();
  EXPECT_TRUE((*pipeline)->End());
  EXPECT_EQ(CountAbandoned().so_far, abandoned_before_);
  EXPECT_EQ(logged.text(), "");
}

// Hangs, and is killed by the test's timeout, where the end of one is waited for first.
TEST_F(HangingPipelineTest, SeveralEndAtOnce) {
  Listener of_one;
  Listener of_other;
  auto one = GstPicturePipeline::Create(Pipeline(kOfOneThatEnds), of_one);
  auto other = GstPicturePipeline::Create(Pipeline(kOfOneThatEnds), of_other);
  ASSERT_TRUE(one.ok() && other.ok());
  (*one)->Play();
  (*other)->Play();
  WaitUntil([&] { return of_one.pictures > 0 && of_other.pictures > 0; });
  TheObstacle().Raise();
  (*one)->BeginEnd();
  (*other)->BeginEnd();
  WaitUntil([] { return TheObstacle().before() == 2; });
  TheObstacle().Clear();
  EXPECT_TRUE((*one)->End());
  EXPECT_TRUE((*other)->End());
}

// The process ended.
TEST_F(HangingPipelineTest, WhatAListenerThrowsOnThePipelinesThreadIsItsOutcome) {
  struct Throwing final : PipelineListener {
    void OnFormat(const CameraFormat& /*format*/) override {}
    void OnPicture(DecodedPicture /*picture*/) override {}
    void OnWarning(const absl::Status& /*warning*/) override {}
    void OnOutcome(absl::Status outcome) override {
      if (absl::IsUnavailable(outcome)) throw std::bad_alloc();
      if (absl::IsInternal(outcome)) told = true;
    }
    std::atomic<bool> told = false;
  } throwing;
  PipelineOptions missing = Pipeline(kOfOneThatEnds);
  missing.head = "filesrc name=source location=/missing ! decodebin name=decoder";
  auto pipeline = GstPicturePipeline::Create(missing, throwing);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  (*pipeline)->Play();
  WaitUntil([&] { return throwing.told.load(); });
}

// Hangs, and is killed by the test's timeout, where Stop() waits for it.
TEST_F(HangingPipelineTest, ASourceStopsWhateverItsPipelineDoes) {
  CameraSource source(Camera(), Pipeline(kOfOneThatHangs));
  ASSERT_TRUE(source.queue().Pop());
  TheObstacle().Raise();
  source.Stop();
  while (source.queue().Pop()) {
  }
  EXPECT_EQ(source.status().state, SourceState::kStopped);
  EXPECT_EQ(HangingOf(kDoor), 1);
}

// Its sessions show frames and are then given up, each with a pipeline that hangs.
TEST_F(HangingPipelineTest, ACameraIsTriedAgainUntilTooManyHangAndThenOnceOneHasEnded) {
  TheObstacle().Raise();
  PipelineOptions short_lived = Pipeline(kOfOneThatHangs);
  short_lived.head =
      "millracehangs videotestsrc name=source num-buffers=3 ! capsfilter "
      "caps=video/x-raw,width=64,height=64,framerate=100/1";
  CameraSource source(Camera(), short_lived);
  WaitUntil([] { return HangingOf(kDoor) == kMaxHangingOfOne; });
  WaitUntil([&] { return absl::IsResourceExhausted(source.status().cause); });
  EXPECT_THAT(Cause(source), HasSubstr("3 pipelines of earlier sessions hang in GStreamer"));
  EXPECT_EQ(HangingOf(kDoor), kMaxHangingOfOne);
  const std::uint64_t received = source.queue().received();
  TheObstacle().Clear();
  WaitUntil([&] { return source.queue().received() > received; });
}

TEST(ListenerGateTest, ClosesOnceItsListenerHasReturnedAndPassesNothingOnThen) {
  struct Slow final : PipelineListener {
    void OnFormat(const CameraFormat& /*format*/) override { ++formats; }
    void OnPicture(DecodedPicture /*picture*/) override {
      ++begun;
      go_on.Pass();
      ++done;
    }
    void OnWarning(const absl::Status& /*warning*/) override {}
    void OnOutcome(absl::Status /*outcome*/) override {}
    Obstacle go_on;
    std::atomic<int> formats = 0;
    std::atomic<int> begun = 0;
    std::atomic<int> done = 0;
  } slow;
  slow.go_on.Raise();
  ListenerGate gate(slow);
  std::jthread inside([&] { gate.OnPicture({}); });
  WaitUntil([&] { return slow.begun == 1; });
  int done_when_closed = 0;
  std::jthread closing([&] {
    gate.Close();
    done_when_closed = slow.done;
  });
  WaitUntil([&] {
    const int before = slow.formats;
    gate.OnFormat({});
    return slow.formats == before;  // It is about to be closed.
  });
  slow.go_on.Clear();
  closing.join();
  EXPECT_EQ(done_when_closed, 1);
  gate.OnPicture({});
  EXPECT_EQ(slow.begun, 1);
}

}  // namespace
}  // namespace millrace::ingest
