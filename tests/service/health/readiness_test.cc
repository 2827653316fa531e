#include "service/health/readiness.h"

#include <gtest/gtest.h>

#include "tests/service/support/web_fakes.h"

namespace millrace::service {
namespace {

StreamSnapshot With(std::string name, ingest::SourceState state, absl::Status cause = {}) {
  StreamSnapshot snapshot = LearningSnapshot(std::move(name));
  snapshot.source.state = state;
  snapshot.source.cause = std::move(cause);
  return snapshot;
}

StreamSnapshot Failed(std::string name) {
  StreamSnapshot snapshot = LearningSnapshot(std::move(name));
  snapshot.learner = absl::InternalError("out of memory");
  return snapshot;
}

TEST(ReadinessTest, IsReadyWhileEveryStreamLearns) {
  const Readiness readiness =
      JudgeReadiness({LearningSnapshot("gate"), LearningSnapshot("yard")}, false);
  EXPECT_TRUE(readiness.ready);
  EXPECT_EQ(readiness.text, "ready\n");
}

TEST(ReadinessTest, IsReadyWithoutAnyStream) { EXPECT_TRUE(JudgeReadiness({}, false).ready); }

TEST(ReadinessTest, NoCameraDecidesHoweverItEnds) {
  const Readiness readiness = JudgeReadiness(
      {With("gate", ingest::SourceState::kEnded),
       With("yard", ingest::SourceState::kFailed, absl::DataLossError("yard.avi: not a video")),
       With("door", ingest::SourceState::kBackingOff, absl::UnavailableError("refused")),
       With("desk", ingest::SourceState::kWaiting, absl::UnavailableError("no client pushes"))},
      false);
  EXPECT_TRUE(readiness.ready);
  EXPECT_EQ(readiness.text,
            "ready\n"
            "gate: the source has ended\n"
            "yard: the source failed: yard.avi: not a video\n"
            "door: the camera is away, backing off: refused\n"
            "desk: waiting for frames: no client pushes\n");
}

TEST(ReadinessTest, OneModelThatFailedIsNamedAndDoesNotDecide) {
  const Readiness readiness = JudgeReadiness({Failed("gate"), LearningSnapshot("yard")}, false);
  EXPECT_TRUE(readiness.ready);
  EXPECT_EQ(readiness.text, "ready\ngate: the learner failed: out of memory\n");
}

TEST(ReadinessTest, IsNotReadyOnceEveryModelFailed) {
  const Readiness readiness = JudgeReadiness({Failed("gate"), Failed("yard")}, false);
  EXPECT_FALSE(readiness.ready);
  EXPECT_EQ(readiness.text,
            "gate: the learner failed: out of memory\nyard: the learner failed: out of memory\n");
}

TEST(ReadinessTest, IsNotReadyWhileStopping) {
  const Readiness readiness = JudgeReadiness({LearningSnapshot("gate")}, true);
  EXPECT_FALSE(readiness.ready);
  EXPECT_EQ(readiness.text, "server: stopping\n");
}

TEST(ReadinessTest, IsNotReadyWhileAPortTakesNoConnections) {
  const Readiness readiness = JudgeReadiness({LearningSnapshot("gate")}, false, "gRPC: gone\n");
  EXPECT_FALSE(readiness.ready);
  EXPECT_EQ(readiness.text, "gRPC: gone\n");
}

}  // namespace
}  // namespace millrace::service
