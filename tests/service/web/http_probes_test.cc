#include "service/web/http_probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/service/support/borrowed_streams.h"
#include "tests/service/support/web_fakes.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

class HttpProbesTest : public ::testing::Test {
 protected:
  HttpResponse Ask(const std::string& path) { return Dispatch(routes_, {.path = path}); }

  FakeClock clock_;
  FakeCameraStream gate_{"gate"};
  FakeCameraStream yard_{"yard"};
  StreamRecord gate_record_{clock_, clock_.Now()};
  StreamRecord yard_record_{clock_, clock_.Now()};
  BorrowedStreams streams_ = {{gate_, gate_record_}, {yard_, yard_record_}};
  Metrics metrics_{{.streams = &streams_}};
  std::atomic<bool> stopping_ = false;
  Liveness liveness_{streams_, clock_};
  std::vector<HttpRoute> routes_ = ProbeRoutes(metrics_, streams_, liveness_, stopping_);
};

TEST_F(HttpProbesTest, IsReadyWhileACameraIsAwayAndSaysSo) {
  yard_.Set([](StreamSnapshot& snapshot) {
    snapshot.source.state = ingest::SourceState::kBackingOff;
    snapshot.source.cause = absl::UnavailableError("rtsp://yard/1: connection refused");
  });
  EXPECT_EQ(Ask("/readyz").status, 200);
  EXPECT_THAT(Ask("/readyz").body, HasSubstr("rtsp://yard/1: connection refused"));
}

TEST_F(HttpProbesTest, IsNotReadyWhileNoModelWorksAndRecovers) {
  const auto fail = [](StreamSnapshot& snapshot) {
    snapshot.learner = absl::InternalError("out of memory");
  };
  gate_.Set(fail);
  EXPECT_EQ(Ask("/readyz").status, 200);
  yard_.Set(fail);
  EXPECT_EQ(Ask("/readyz").status, 503);
  EXPECT_THAT(Ask("/readyz").body, HasSubstr("gate: the learner failed: out of memory"));
  yard_.Set([](StreamSnapshot& snapshot) { snapshot.learner = absl::OkStatus(); });
  EXPECT_EQ(Ask("/readyz").status, 200);
}

TEST_F(HttpProbesTest, IsNotReadyWhileStoppingButStartedAndAlive) {
  stopping_ = true;
  EXPECT_EQ(Ask("/readyz").status, 503);
  EXPECT_THAT(Ask("/readyz").body, HasSubstr("stopping"));
  EXPECT_EQ(Ask("/startupz").status, 200);
  EXPECT_EQ(Ask("/healthz").status, 200);
}

TEST_F(HttpProbesTest, IsNotAliveOnceAGpuHasFailedAndSaysSo) {
  EXPECT_EQ(Ask("/healthz").status, 200);
  EXPECT_EQ(Ask("/healthz").body, "ok\n");
  yard_.Set([](StreamSnapshot& snapshot) {
    snapshot.learner = absl::AbortedError("the GPU has failed: start again");
  });
  EXPECT_EQ(Ask("/healthz").status, 503);
  EXPECT_EQ(Ask("/healthz").body, "yard: the learner failed: the GPU has failed: start again\n");
}

TEST_F(HttpProbesTest, IsNotAliveWhileAStreamHangsAndSaysSo) {
  EXPECT_EQ(Ask("/healthz").status, 200);
  clock_.Advance(Liveness::kPatience);
  gate_.Set([](StreamSnapshot& snapshot) { ++snapshot.frames.predicted; });
  EXPECT_EQ(Ask("/healthz").status, 503);
  EXPECT_EQ(Ask("/healthz").body,
            "yard: hangs: its learner has made nothing of 3 frames in flight for 60 s\n");
}

}  // namespace
}  // namespace millrace::service
