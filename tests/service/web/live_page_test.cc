#include "service/web/live_page.h"

#include <memory>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"
#include "service/web/live_page_assets.h"
#include "tests/service/support/borrowed_streams.h"
#include "tests/service/support/planner_said.h"
#include "tests/service/support/web_fakes.h"

namespace millrace::service {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

class LivePageTest : public ::testing::Test {
 protected:
  HttpResponse Ask(const std::string& path, const std::string& query = "viewer=me") {
    return Dispatch(routes_, {.path = path, .query = query, .remote_address = "127.0.0.1"});
  }
  nlohmann::json AskJson(const std::string& path, const std::string& query = "viewer=me") {
    return nlohmann::json::parse(Ask(path, query).body);
  }

  FakeClock clock_;
  FakeCameraStream stream_{"street"};
  StreamRecord record_{clock_, clock_.Now()};
  std::atomic<bool> stopping_ = false;
  BorrowedStreams streams_ = {{stream_, record_}};
  LivePage page_{
      {.streams = &streams_, .max_viewers = 2, .clock = &clock_, .stopping = &stopping_}};
  std::vector<HttpRoute> routes_ = page_.Routes();
};

/// The files that the page's own files name: "page.css", "text.js".
std::set<std::string> FilesNamed() {
  std::set<std::string> names;
  for (const LivePageAsset& asset : LivePageAssets()) {
    const std::string text(asset.content);
    for (const std::string sign : {"src=\"/", "href=\"/", "from \"/"}) {
      for (std::size_t at = text.find(sign); at != std::string::npos; at = text.find(sign, at)) {
        at += sign.size();
        names.insert(text.substr(at, text.find('"', at) - at));
      }
    }
  }
  return names;
}

TEST_F(LivePageTest, ServesThePageAndEveryFileThatItNames) {
  const HttpResponse index = Ask("/");
  EXPECT_EQ(index.status, 200);
  EXPECT_EQ(index.content_type, "text/html; charset=utf-8");
  const std::set<std::string> files = FilesNamed();
  EXPECT_THAT(files, IsSupersetOf({"page.css", "page.js", "text.js", "flow_wheel.jpg"}));
  for (const std::string& file : files) {
    EXPECT_EQ(Ask("/" + file).status, 200) << file;
    EXPECT_FALSE(Ask("/" + file).body.empty()) << file;
  }
  EXPECT_EQ(Ask("/page.js").content_type, "text/javascript; charset=utf-8");
}

TEST_F(LivePageTest, NamesNoResourceOfAnotherServer) {
  for (const LivePageAsset& asset : LivePageAssets()) {
    for (const char* sign :
         {"src=\"http", "href=\"http", "url(http", "import(\"http", "from \"http"}) {
      EXPECT_EQ(asset.content.find(sign), std::string_view::npos) << asset.name;
    }
  }
}

TEST_F(LivePageTest, TellsWhatTheStreamDoes) {
  stream_.ring().Publish(MovingDisc("street", 412, 32, 16));
  stream_.Set([](StreamSnapshot& snapshot) {
    snapshot.loads = {{0.21, 0.44}};
    snapshot.skipped[static_cast<int>(pipeline::SkipReason::kTooFast)] = 31;
    snapshot.learning.roll_backs = 2;
  });
  const nlohmann::json answer = AskJson("/api/streams");
  EXPECT_EQ(answer["server"]["viewers"], 1);
  EXPECT_EQ(answer["server"]["stopping"], false);
  ASSERT_THAT(answer["streams"], SizeIs(1));
  const nlohmann::json& stream = answer["streams"][0];
  EXPECT_EQ(stream["name"], "street");
  EXPECT_EQ(stream["source"]["state"], "streaming");
  EXPECT_EQ(stream["source"]["width"], 768);
  EXPECT_EQ(stream["learner"]["schedule"], "one_f_one_b_star");
  EXPECT_EQ(stream["learner"]["stages"][0]["staleness"], 1);
  EXPECT_EQ(stream["learner"]["stages"][1]["updates"], 405);
  EXPECT_EQ(stream["learner"]["stages"][0]["load"]["predicting"], 0.21);
  EXPECT_EQ(stream["learner"]["stages"][0]["load"]["learning"], 0.44);
  EXPECT_TRUE(stream["learner"]["stages"][1]["load"].is_null()) << "it is not known";
  EXPECT_EQ(stream["learner"]["skipped"]["too_fast"], 31);
  EXPECT_EQ(stream["learner"]["skipped"]["repeated"], 0);
  EXPECT_FALSE(stream["learner"]["skipped"].contains("none")) << "these were learned from";
  EXPECT_EQ(stream["learner"]["roll_backs"], 2);
  EXPECT_EQ(stream["frames"]["received"], 412);
  EXPECT_EQ(stream["frames"]["dropped"]["queue_full"], 3);
  EXPECT_DOUBLE_EQ(stream["delay_p50_ms"], 134);
  EXPECT_DOUBLE_EQ(stream["loss"], 0.037);
  EXPECT_EQ(stream["newest"]["frame"], 412);
  EXPECT_EQ(AskJson("/api/streams/street")["name"], "street");
}

TEST_F(LivePageTest, TellsWhatTheNewestPredictionsWereWorth) {
  const auto recent = [&] { return AskJson("/api/streams/street")["recent"]; };
  EXPECT_EQ(recent()["predictions"], 200);
  EXPECT_EQ(recent()["window"], 200);
  EXPECT_NEAR(recent()["explained"], 0.26, 1e-9);
  EXPECT_EQ(recent()["sees_spurious_motion"], false);
  EXPECT_TRUE(recent()["reference"].is_null()) << "it is compared with nothing";
  EXPECT_TRUE(AskJson("/api/streams/street")["compare_with"].is_null());

  stream_.CompareWith("dis");
  stream_.Set([](StreamSnapshot& snapshot) {
    snapshot.recent.gain = 0.7;
    snapshot.recent.spurious_share = 0.75;
  });
  EXPECT_EQ(recent()["reference"], nlohmann::json({{"name", "dis"}, {"gain", 0.7}}));
  EXPECT_EQ(AskJson("/api/streams/street")["compare_with"], "dis");
  EXPECT_EQ(recent()["spurious_share"], 0.75);
  EXPECT_EQ(recent()["sees_spurious_motion"], true);

  stream_.Set([](StreamSnapshot& snapshot) { snapshot.recent = {}; });
  EXPECT_TRUE(recent()["explained"].is_null()) << "there was no prediction";
}

TEST_F(LivePageTest, TellsWhatThePlannerSaid) {
  EXPECT_TRUE(AskJson("/api/streams/street")["learner"]["rate_plan"].is_null());
  stream_.Describe(PlannerSaid);
  stream_.Set([](StreamSnapshot& snapshot) { snapshot.update_every = 4; });
  const nlohmann::json learner = AskJson("/api/streams/street")["learner"];
  EXPECT_EQ(learner["update_every"], 4);
  EXPECT_EQ(learner["rate_plan"]["frames_per_second"], 10);
  EXPECT_EQ(learner["rate_plan"]["holds"], false);
  EXPECT_EQ(learner["rate_plan"]["expected_dropped_share"], 0.25);
  EXPECT_EQ(learner["rate_plan"]["limit"], "layer 3 alone takes 62");
  EXPECT_EQ(learner["rate_plan"]["times_switched"], 1);
  EXPECT_EQ(learner["rate_plan"]["times_kept"], 2);
  EXPECT_EQ(learner["rate_plan"]["replan_cause"], "stage 1 takes 80 ms a sample instead of 65");
}

TEST_F(LivePageTest, TellsWhatIsGivenUpUnderOverloadAndWhatHelps) {
  const nlohmann::json before = AskJson("/api/streams/street");
  EXPECT_EQ(before["overload"]["kind"], "none");
  EXPECT_EQ(before["overload"]["cause"], "");
  EXPECT_TRUE(before["overload"]["input"].is_null());
  EXPECT_EQ(before["promise"]["rate_kept"], true);
  stream_.Set([](StreamSnapshot& snapshot) {
    snapshot.overload = {.kind = OverloadKind::kDrops,
                         .received_per_second = 25,
                         .predicted_per_second = 5,
                         .dropped_per_second = 20,
                         .remedies = {.max_fps = 4, .width = 160, .height = 112, .stages = 4}};
    snapshot.promise = {.frames_per_second = 25, .delay_s = 0.009, .rate_kept = false};
  });
  const nlohmann::json stream = AskJson("/api/streams/street");
  EXPECT_EQ(stream["overload"]["kind"], "drops");
  EXPECT_EQ(stream["overload"]["cause"], "drops 20.0 of 25.0 frames a second");
  EXPECT_EQ(stream["overload"]["max_fps"], 4);
  EXPECT_EQ(stream["overload"]["input"], nlohmann::json({160, 112}));
  EXPECT_EQ(stream["overload"]["stages"], 4);
  EXPECT_EQ(stream["promise"]["frames_per_second"], 25);
  EXPECT_EQ(stream["promise"]["delay_ms"], 9);
  EXPECT_EQ(stream["promise"]["rate_kept"], false);
  EXPECT_EQ(stream["promise"]["delay_kept"], true);
}

TEST_F(LivePageTest, HasNoPictureBeforeTheFirstPrediction) {
  EXPECT_TRUE(AskJson("/api/streams")["streams"][0]["newest"].is_null());
  EXPECT_EQ(Ask("/streams/street/picture.jpg").status, 404);
  EXPECT_EQ(Ask("/streams/street/flow.jpg").status, 404);
}

TEST_F(LivePageTest, ShowsPictureAndFlowAsJpeg) {
  stream_.ring().Publish(MovingDisc("street", 7, 32, 16));
  for (const char* path : {"/streams/street/picture.jpg", "/streams/street/flow.jpg",
                           "/streams/street/uncertainty.jpg"}) {
    const HttpResponse response = Ask(path);
    EXPECT_EQ(response.status, 200) << path;
    EXPECT_EQ(response.content_type, "image/jpeg") << path;
    EXPECT_THAT(response.body, StartsWith("\xff\xd8")) << path;
    EXPECT_THAT(response.headers, Contains(Pair("X-Frame-Number", "7"))) << path;
  }
  EXPECT_THAT(Ask("/streams/street/flow.jpg").headers, Contains(Pair("X-Flow-Scale", "5")));
  const HttpResponse reference = Ask("/streams/street/reference.jpg");
  EXPECT_EQ(reference.status, 404);
  EXPECT_THAT(reference.body, HasSubstr("compare_with"));
}

TEST_F(LivePageTest, KnowsNoOtherStream) {
  for (const char* path : {"/api/streams/yard", "/streams/yard/picture.jpg"}) {
    EXPECT_EQ(Ask(path).status, 404) << path;
  }
}

TEST_F(LivePageTest, TellsOnlyTheHistoryThatThePageLacks) {
  for (int second = 0; second < 4; ++second) {
    record_.Record(*MovingDisc("street", second, 16, 16));
    clock_.Advance(std::chrono::seconds(1));
  }
  const auto history = [this](const std::string& query) {
    return AskJson("/api/streams", "viewer=me" + query)["streams"][0]["history"];
  };
  EXPECT_THAT(history("&history=street"), SizeIs(3)) << "the fourth is open";
  EXPECT_THAT(history(""), SizeIs(0)) << "the overview draws none";
  EXPECT_THAT(history("&history=yard&after=-1"), SizeIs(0)) << "the page draws another stream's";
  EXPECT_THAT(AskJson("/api/streams/street")["history"], SizeIs(3));
  const nlohmann::json later = history("&history=street&after=1");
  ASSERT_THAT(later, SizeIs(1));
  EXPECT_EQ(later[0][0], 2);
  EXPECT_NEAR(later[0][1], 0.037, 1e-6);
  EXPECT_NEAR(later[0][2], 0.05, 1e-6);
}

TEST_F(LivePageTest, RefusesViewersBeyondTheLimitInAFriendlyWay) {
  EXPECT_EQ(Ask("/api/streams", "viewer=a").status, 200);
  EXPECT_EQ(Ask("/api/streams", "viewer=b").status, 200);
  const HttpResponse refusal = Ask("/api/streams", "viewer=c");
  EXPECT_EQ(refusal.status, 503);
  EXPECT_THAT(refusal.headers, Contains(Pair("Retry-After", "5")));
  EXPECT_THAT(refusal.body, HasSubstr("listen.max_viewers"));
  EXPECT_EQ(Ask("/streams/street/flow.jpg", "viewer=c").status, 503);
  EXPECT_EQ(Ask("/api/streams", "viewer=a").status, 200) << "who watches goes on watching";
}

// The page itself takes no seat: it says that all are taken, and finds its own again.
TEST_F(LivePageTest, WhoReloadsThePageWhileAllSeatsAreTakenKeepsTheirs) {
  EXPECT_EQ(Ask("/api/streams", "viewer=a").status, 200);
  EXPECT_EQ(Ask("/api/streams", "viewer=b").status, 200);
  EXPECT_EQ(Ask("/", "").status, 200);
  EXPECT_EQ(Ask("/api/streams", "viewer=a").status, 200);
}

TEST_F(LivePageTest, KeepsNothingOfAStreamThatIsGone) {
  stream_.ring().Publish(MovingDisc("street", 7, 32, 16));
  EXPECT_EQ(Ask("/api/streams").status, 200);
  EXPECT_EQ(Ask("/streams/street/flow.jpg").status, 200);
  SharedStream street = *streams_.Find("street");
  const std::weak_ptr<ServedStream> gone = street;
  streams_.Remove(street);
  street.reset();
  EXPECT_TRUE(gone.expired()) << "a learner and all its memory may hang on it";
}

TEST_F(LivePageTest, GivesTheSeatOfAViewerWhoLeftToTheNext) {
  EXPECT_EQ(Ask("/api/streams", "viewer=a").status, 200);
  EXPECT_EQ(Ask("/api/streams", "viewer=b").status, 200);
  clock_.Advance(std::chrono::seconds(3));
  EXPECT_EQ(Ask("/api/streams", "viewer=b").status, 200);
  EXPECT_EQ(Ask("/api/streams", "viewer=c").status, 503);
  clock_.Advance(std::chrono::seconds(2));
  EXPECT_EQ(Ask("/api/streams", "viewer=c").status, 200);
}

TEST_F(LivePageTest, CountsWhoSaysNoIdByAddress) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Ask("/api/streams", "").status, 200);
  EXPECT_EQ(page_.viewers().count(), 1u);
}

TEST_F(LivePageTest, SaysThatTheServerStops) {
  stopping_ = true;
  EXPECT_EQ(AskJson("/api/streams")["server"]["stopping"], true);
}

TEST_F(LivePageTest, SurvivesTextThatIsNoUtf8) {
  stream_.Set([](StreamSnapshot& snapshot) { snapshot.uri = "caf\xe9.avi"; });
  EXPECT_EQ(Ask("/api/streams").status, 200);
}

}  // namespace
}  // namespace millrace::service
