#include "service/frames/live_page_pictures.h"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/service/frames/decode_jpeg.h"
#include "tests/service/support/web_fakes.h"

namespace millrace::service {
namespace {

class LivePagePicturesTest : public ::testing::Test {
 protected:
  void Publish(std::int64_t number) { ring_.Publish(MovingDisc("street", number, 32, 16)); }
  /// The pages ask after each.
  void PublishAndAsk(std::int64_t first, std::int64_t last) {
    for (std::int64_t number = first; number <= last; ++number) {
      Publish(number);
      EXPECT_EQ(pictures_.Newest()->frame_number, number);
    }
  }

  PredictionRing ring_{16};
  LivePagePictures pictures_{ring_};
};

TEST_F(LivePagePicturesTest, EncodesNothingWhenNobodyAsks) {
  for (std::int64_t number = 0; number < 10; ++number) Publish(number);
  EXPECT_EQ(pictures_.encoded(), 0u);
}

TEST_F(LivePagePicturesTest, EncodesEachPictureOnceHoweverManyAsk) {
  Publish(1);
  std::vector<std::jthread> viewers;
  for (int i = 0; i < 8; ++i) {
    viewers.emplace_back([&] {
      EXPECT_TRUE(pictures_.Encoded(PictureKind::kCamera, 1).ok());
      EXPECT_TRUE(pictures_.Encoded(PictureKind::kFlow, 1).ok());
    });
  }
  viewers.clear();
  EXPECT_EQ(pictures_.encoded(), 2u);
}

TEST_F(LivePagePicturesTest, KeepsPictureAndFlowOfTheSameMoment) {
  Publish(1);
  ASSERT_EQ(pictures_.Newest()->frame_number, 1);
  EXPECT_EQ(pictures_.Encoded(PictureKind::kCamera, 1)->frame_number, 1);
  Publish(2);  // Comes between the two requests of a page.
  EXPECT_EQ(pictures_.Encoded(PictureKind::kFlow, 1)->frame_number, 1);
}

TEST_F(LivePagePicturesTest, GivesTheNewestForOneThatIsGone) {
  PublishAndAsk(1, 40);
  EXPECT_EQ(pictures_.Encoded(PictureKind::kCamera, 1)->frame_number, 40);
  EXPECT_EQ(pictures_.Encoded(PictureKind::kCamera, std::nullopt)->frame_number, 40);
}

// Of a camera with 30 frames a second, while many watch: each poll is of another frame.
TEST_F(LivePagePicturesTest, KeepsWhatAPageBehindASlowLinkAsksForHalfASecondLater) {
  PublishAndAsk(1, 16);
  EXPECT_EQ(pictures_.Encoded(PictureKind::kCamera, 1)->frame_number, 1);
  EXPECT_EQ(pictures_.Encoded(PictureKind::kFlow, 1)->frame_number, 1);
}

TEST_F(LivePagePicturesTest, KeepsNothingForLongerThanASecond) {
  for (const int ms : {0, 700, 1600}) {
    Prediction prediction = *MovingDisc("street", ms, 32, 16);
    prediction.emission_time = std::chrono::milliseconds(ms);
    ring_.Publish(std::make_shared<const Prediction>(prediction));
    EXPECT_EQ(pictures_.Newest()->frame_number, ms);
  }
  EXPECT_EQ(pictures_.Encoded(PictureKind::kCamera, 0)->frame_number, 1600);
  EXPECT_EQ(pictures_.Encoded(PictureKind::kCamera, 700)->frame_number, 700);
}

TEST_F(LivePagePicturesTest, HasNothingBeforeTheFirstPrediction) {
  EXPECT_EQ(pictures_.Newest(), nullptr);
  EXPECT_TRUE(absl::IsNotFound(pictures_.Encoded(PictureKind::kCamera, std::nullopt).status()));
  EXPECT_TRUE(absl::IsNotFound(pictures_.Encoded(PictureKind::kFlow, 3).status()));
}

TEST_F(LivePagePicturesTest, ShowsThePictureToComeWhereThereIsOne) {
  Prediction prediction = *MovingDisc("street", 1, 32, 16);
  ring_.Publish(std::make_shared<const Prediction>(prediction));
  EXPECT_TRUE(absl::IsNotFound(pictures_.Encoded(PictureKind::kNext, 1).status()));
  prediction.frame_number = 2;
  prediction.next_frame = true;
  ring_.Publish(std::make_shared<const Prediction>(prediction));
  const auto next = pictures_.Encoded(PictureKind::kNext, 2);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_NE(next->jpeg, pictures_.Encoded(PictureKind::kCamera, 2)->jpeg) << "things moved on";
}

TEST_F(LivePagePicturesTest, ShowsTheReferenceInTheColoursOfTheModel) {
  Prediction prediction = *MovingDisc("street", 1, 32, 16);
  ring_.Publish(std::make_shared<const Prediction>(prediction));
  const absl::Status none = pictures_.Encoded(PictureKind::kReference, 1).status();
  EXPECT_TRUE(absl::IsNotFound(none));
  EXPECT_THAT(std::string(none.message()), testing::HasSubstr("scores.compare_with"));
  prediction.frame_number = 2;
  prediction.reference_flow = prediction.model.flow;
  ring_.Publish(std::make_shared<const Prediction>(prediction));
  const auto reference = pictures_.Encoded(PictureKind::kReference, 2);
  ASSERT_TRUE(reference.ok()) << reference.status();
  const auto flow = pictures_.Encoded(PictureKind::kFlow, 2);
  EXPECT_EQ(reference->jpeg, flow->jpeg) << "it sees the same";
  EXPECT_EQ(reference->scale, flow->scale);
  EXPECT_EQ(pictures_.encoded(), 2u);
}

TEST_F(LivePagePicturesTest, ShowsDoubtAtTheEdgesOfTheMotion) {
  Publish(1);
  const auto doubt = pictures_.Encoded(PictureKind::kUncertainty, 1);
  ASSERT_TRUE(doubt.ok()) << doubt.status();
  const std::vector<std::uint8_t> rgb = DecodeJpeg(doubt->jpeg, 32, 16);
  // The disc is on the right, 0.17 of the height wide. The flow contradicts the pictures there.
  const auto at = [&rgb](int x, int y) { return rgb[(y * 32 + x) * 3]; };
  EXPECT_GT(at(25, 8), 200);
  EXPECT_LT(at(2, 8), 20);
}

TEST_F(LivePagePicturesTest, HasNoDoubtOfWhatHasNoPictureBefore) {
  Prediction prediction = *MovingDisc("street", 1, 32, 16);
  prediction.previous = nullptr;
  ring_.Publish(std::make_shared<const Prediction>(prediction));
  EXPECT_TRUE(absl::IsNotFound(pictures_.Encoded(PictureKind::kUncertainty, 1).status()));
}

}  // namespace
}  // namespace millrace::service
