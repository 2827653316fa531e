#include "service/api/learner_service.h"

#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"
#include "tests/ingest/support/logged.h"
#include "tests/service/support/balanced.h"
#include "tests/service/support/error_details.h"
#include "tests/service/support/grpc_fixture.h"
#include "tests/service/support/subscriber.h"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LearnerServiceTest : public GrpcFixture {
 protected:
  LearnerServiceTest() = default;
  using GrpcFixture::GrpcFixture;

  /// Calls one of the methods that take the name of a stream; `learner_` is what it answers.
  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (v1::LearnerService::Stub::*method)(grpc::ClientContext*,
                                                                     const Request&, Response*),
                    const std::string& stream = "street") {
    grpc::ClientContext context;
    Request request;
    request.set_stream(stream);
    Response response;
    const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
    learner_ = response.learner();
    return status;
  }
  grpc::Status Get() { return Call(&v1::LearnerService::Stub::GetLearner); }
  grpc::Status Pause() { return Call(&v1::LearnerService::Stub::PauseLearner); }
  grpc::Status Resume() { return Call(&v1::LearnerService::Stub::ResumeLearner); }
  grpc::Status Freeze() { return Call(&v1::LearnerService::Stub::FreezeLearner); }
  grpc::Status Reset() { return Call(&v1::LearnerService::Stub::ResetLearner); }

  grpc::Status Update(const v1::Learner& learner, const std::vector<std::string>& paths) {
    grpc::ClientContext context;
    v1::UpdateLearnerRequest request;
    *request.mutable_learner() = learner;
    for (const std::string& path : paths) request.mutable_update_mask()->add_paths(path);
    v1::UpdateLearnerResponse response;
    const grpc::Status status = stub_->UpdateLearner(&context, request, &response);
    learner_ = response.learner();
    return status;
  }

  /// A change of the policy, which nothing is wrong with.
  static v1::Learner OtherPolicy(const std::string& stream = "street") {
    v1::Learner learner;
    learner.set_stream(stream);
    learner.mutable_policy()->set_kind(v1::UPDATE_POLICY_KIND_EVERY);
    learner.mutable_policy()->set_every(5);
    return learner;
  }

  /// From now on the stream "street" keeps checkpoints, and has one.
  void KeepCheckpoints() {
    std::filesystem::create_directories(folder_ / "checkpoint-000000000099");
    StreamConfig config = Served("street")->config();
    config.learner.checkpoints.folder = folder_;
    Served("street")->SetConfig(config);
  }
  std::vector<std::string> InFolder() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  /// Has the learner of "street" fail.
  void Fail() {
    street_.learner->Fail(absl::InternalError("out of memory"));
    street_.source->Push();
    street_.source->Push();
    while (street().Snapshot().learner.ok()) std::this_thread::yield();
  }
  void End() {
    street_.source->End();
    while (!street().ended()) std::this_thread::yield();
  }

  static v1::Learner Street() {
    v1::Learner learner;
    learner.set_stream("street");
    return learner;
  }

  std::uint64_t Dropped(DropReason reason) {
    return street().Snapshot().frames.dropped[static_cast<std::size_t>(reason)];
  }

  const TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path() / "street";
  std::unique_ptr<v1::LearnerService::Stub> stub_ = v1::LearnerService::NewStub(channel_);
  v1::Learner learner_;
};

TEST_F(LearnerServiceTest, TellsWhatALearnerDoesAndHow) {
  Film(street_, 3);
  ASSERT_TRUE(Get().ok());
  EXPECT_EQ(learner_.stream(), "street");
  EXPECT_EQ(learner_.state(), v1::LEARNER_STATE_LEARNING);
  EXPECT_EQ(learner_.learning_rate(), 1e-4);
  EXPECT_EQ(learner_.learning_rate_share(), 1);
  EXPECT_EQ(learner_.policy().kind(), v1::UPDATE_POLICY_KIND_EVERY);
  EXPECT_EQ(learner_.policy().every(), 1);
  EXPECT_THAT(learner_.updates(), ElementsAre(2, 2));
}

TEST_F(LearnerServiceTest, APausedLearnerDropsItsFramesUntilItIsResumed) {
  Film(street_, 2);
  ASSERT_TRUE(Pause().ok());
  EXPECT_EQ(learner_.state(), v1::LEARNER_STATE_PAUSED);
  ASSERT_TRUE(Pause().ok()) << "again changes nothing";
  // A frame may have been taken before it was paused, which then is not one of them.
  for (int i = 0; i < 3; ++i) street_.source->Push();
  while (Dropped(DropReason::kPaused) < 2) std::this_thread::yield();
  ASSERT_TRUE(Resume().ok());
  EXPECT_EQ(learner_.state(), v1::LEARNER_STATE_LEARNING);
  street_.source->Push();
  street_.learner->Predict();
  while (!Balanced(street().Snapshot().frames)) std::this_thread::yield();
  EXPECT_GE(street().Snapshot().frames.predicted, 2u);
}

TEST_F(LearnerServiceTest, AFrozenLearnerPredictsAndLearnsNothing) {
  ASSERT_TRUE(Freeze().ok());
  EXPECT_EQ(learner_.state(), v1::LEARNER_STATE_FROZEN);
  EXPECT_TRUE(street_.learner->frozen);
  Film(street_, 3);
  EXPECT_EQ(street().Snapshot().frames.predicted, 2u);
  ASSERT_TRUE(Resume().ok());
  EXPECT_FALSE(street_.learner->frozen);
}

TEST_F(LearnerServiceTest, WatchersSeeWhatALearnerWasTold) {
  std::deque<StreamEvent> now;
  StreamEventLog::Cursor cursor = events_.Watch("", now);
  ASSERT_TRUE(Freeze().ok());
  EXPECT_EQ(events_.Next(cursor, "street").event->learner, LearnerState::kFrozen);
}

TEST_F(LearnerServiceTest, ALearnerThatGaveUpSaysSoUntilItIsResumed) {
  std::deque<StreamEvent> now;
  StreamEventLog::Cursor cursor = events_.Watch("", now);
  street_.learner->SetLearning({.roll_backs = 12, .rate_scale = 0});
  StreamEvent told;
  while (told.learner != LearnerState::kGivenUp) {
    Film(street_, 1);
    while (const auto next = events_.Next(cursor, "street").event) told = *next;
  }
  EXPECT_EQ(told.learner, LearnerState::kGivenUp);
  EXPECT_THAT(told.cause, testing::HasSubstr("set a lower model.learning_rate"));
  ASSERT_TRUE(Get().ok());
  EXPECT_EQ(learner_.state(), v1::LEARNER_STATE_GIVEN_UP);
  EXPECT_EQ(learner_.cause(), told.cause);
  EXPECT_EQ(learner_.learning_rate_share(), 0);

  ASSERT_TRUE(Freeze().ok());
  EXPECT_EQ(learner_.state(), v1::LEARNER_STATE_FROZEN) << "as it was told";
  ASSERT_TRUE(Resume().ok());
  EXPECT_EQ(learner_.state(), v1::LEARNER_STATE_LEARNING);
  EXPECT_EQ(learner_.cause(), "");
}

// It was rolled back again and again, and nothing named the rate.
TEST_F(LearnerServiceTest, ARateFarAboveTheDefaultIsNamedAsTheLikelyCause) {
  constexpr char kAdvice[] =
      "model.learning_rate is 1, 10000 times the default, and the likely cause: set 0.0001";
  const ingest::Logged logged;
  ASSERT_TRUE(street().Change({.learning_rate = 1}).ok());
  std::deque<StreamEvent> now;
  StreamEventLog::Cursor cursor = events_.Watch("", now);
  street_.learner->SetLearning({.roll_backs = 1, .rate_scale = 0.5});
  Film(street_, 3);
  street_.learner->SetLearning({.roll_backs = 12, .rate_scale = 0});
  StreamEvent told;
  while (told.learner != LearnerState::kGivenUp) {
    Film(street_, 1);
    while (const auto next = events_.Next(cursor, "street").event) told = *next;
  }
  EXPECT_THAT(told.cause, HasSubstr(kAdvice));
  ASSERT_TRUE(Get().ok());
  EXPECT_EQ(learner_.cause(), told.cause);
  street().Stop();
  EXPECT_THAT(logged.text(), HasSubstr(absl::StrCat("with 0.5 of the learning rate; ", kAdvice)));
}

// A call that resumes learning must not restore the earlier rate.
TEST_F(LearnerServiceTest, ARateThatIsSetHoldsWhoeverResumesMeanwhile) {
  std::atomic<std::int64_t> resumed = 0;
  const std::jthread resumer([&](const std::stop_token& stop) {
    for (; !stop.stop_requested(); ++resumed) {
      street_.learner->SetLearning({.rate_scale = 0});
      EXPECT_TRUE(street().SetMode(LearnerState::kLearning).ok());
    }
  });
  for (int i = 0; i < 3000; ++i) {
    const double rate = i % 2 == 0 ? 1e-4 : 2e-4;
    ASSERT_TRUE(street().Change({.learning_rate = rate}).ok());
    const std::int64_t now = resumed;
    while (resumed < now + 2) std::this_thread::yield();  // All that had begun are over.
    ASSERT_EQ(street_.learner->rate, rate) << "after " << i;
  }
}

TEST_F(LearnerServiceTest, RateAndPolicyAreChangedWhileItRuns) {
  v1::Learner change = Street();
  change.set_learning_rate(0.01);
  change.mutable_policy()->set_kind(v1::UPDATE_POLICY_KIND_EVERY);
  change.mutable_policy()->set_every(5);
  ASSERT_TRUE(Update(change, {"learning_rate"}).ok());
  EXPECT_EQ(learner_.learning_rate(), 0.01);
  EXPECT_EQ(learner_.policy().every(), 1) << "it was not in the mask";
  ASSERT_TRUE(Update(change, {"policy"}).ok());
  EXPECT_EQ(street_.learner->every, 5);
  EXPECT_EQ(learner_.policy().every(), 5);
}

TEST_F(LearnerServiceTest, TheLogSaysWhoSetWhatToWhat) {
  const ingest::Logged logged;
  v1::Learner change = Street();
  change.set_learning_rate(0.01);
  change.mutable_policy()->set_kind(v1::UPDATE_POLICY_KIND_EVERY);
  change.mutable_policy()->set_every(5);
  ASSERT_TRUE(Update(change, {"learning_rate", "policy"}).ok());
  ASSERT_TRUE(Freeze().ok());
  ASSERT_TRUE(Freeze().ok());
  ASSERT_TRUE(Resume().ok());
  const std::string who = "info stream 'street': a client at 127.0.0.1 has set ";
  EXPECT_THAT(logged.text(), HasSubstr(who + "learning_rate from 0.0001 to 0.01 and set policy "
                                             "from {kind: UPDATE_POLICY_KIND_EVERY every: 1"));
  EXPECT_THAT(logged.text(), HasSubstr(who + "the learner from learning to frozen\n" + who +
                                       "the learner from frozen to learning\n"));
}

TEST_F(LearnerServiceTest, ZeroIsZeroAndWhatIsLeftOutIsAsByDefault) {
  v1::Learner change = Street();
  v1::UpdatePolicy& policy = *change.mutable_policy();
  policy.set_kind(v1::UPDATE_POLICY_KIND_MAG);
  policy.set_moving_pixels(0);
  ASSERT_TRUE(Update(change, {"policy"}).ok());
  EXPECT_EQ(learner_.policy().moving_pixels(), 0);
  EXPECT_EQ(learner_.policy().moving_share(), pipeline::UpdatePolicyOptions().moving_share);
  EXPECT_FALSE(learner_.policy().has_every()) << "it is not used";
  policy.set_kind(v1::UPDATE_POLICY_KIND_DIV);
  policy.set_divergence(0);
  ASSERT_TRUE(Update(change, {"policy"}).ok());
  EXPECT_TRUE(learner_.policy().has_divergence());
  EXPECT_EQ(learner_.policy().divergence(), 0);
}

TEST_F(LearnerServiceTest, APolicyThatSaysNothingIsRefused) {
  std::vector<v1::Learner> wrong(4, Street());
  wrong[1].mutable_policy()->set_every(5);  // Of no kind.
  wrong[2].mutable_policy()->set_kind(static_cast<v1::UpdatePolicyKind>(77));
  wrong[3].mutable_policy()->set_kind(v1::UPDATE_POLICY_KIND_EVERY);
  wrong[3].mutable_policy()->set_every(0);
  for (const v1::Learner& change : wrong) {
    const grpc::Status status = Update(change, {"policy"});
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << change.DebugString();
    EXPECT_EQ(DetailsOf(status).bad_request.field_violations(0).field(), "learner.policy");
  }
  EXPECT_EQ(street_.learner->every, 1);
}

TEST_F(LearnerServiceTest, AChangeIsMadeInFullOrNotAtAll) {
  v1::Learner change = Street();
  change.set_learning_rate(2);
  change.mutable_policy()->set_kind(v1::UPDATE_POLICY_KIND_EVERY);
  change.mutable_policy()->set_every(5);
  const grpc::Status status = Update(change, {"policy", "learning_rate", "color"});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  std::vector<std::string> fields;
  const ErrorDetails details = DetailsOf(status);
  for (const auto& violation : details.bad_request.field_violations()) {
    fields.push_back(violation.field());
  }
  EXPECT_THAT(fields, ElementsAre("learner.learning_rate", "update_mask"));
  EXPECT_EQ(street_.learner->every, 1);
  EXPECT_EQ(Update(change, {}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);

  const LearnerChange direct = {.learning_rate = 2,
                                .policy = pipeline::UpdatePolicyOptions{.every = 5}};
  EXPECT_TRUE(absl::IsInvalidArgument(street().Change(direct)));
  EXPECT_EQ(street_.learner->every, 1) << "what the learner refuses last undoes the rest";
}

TEST_F(LearnerServiceTest, AResetStreamBeginsAnewAndItsCheckpointsAreSetAside) {
  KeepCheckpoints();
  Film(street_, 3);
  const std::string run = Served("street")->run_id;
  Subscriber subscriber(*channel_, To("street"));
  ASSERT_TRUE(Reset().ok());
  EXPECT_THAT(learner_.updates(), ElementsAre(0, 0));
  EXPECT_NE(Served("street")->run_id, run);
  EXPECT_FALSE(subscriber.Next());
  EXPECT_EQ(subscriber.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(InFolder(), ElementsAre(testing::StartsWith("reset-2")));
}

TEST_F(LearnerServiceTest, AResetIsTheWayBackOfALearnerThatHasFailedOrEnded) {
  for (const bool keeps_checkpoints : {false, true}) {
    if (keeps_checkpoints) KeepCheckpoints();
    for (const bool fails : {true, false}) {
      fails ? Fail() : End();
      ASSERT_TRUE(Get().ok());
      EXPECT_EQ(learner_.state(), fails ? v1::LEARNER_STATE_FAILED : v1::LEARNER_STATE_ENDED);
      ASSERT_TRUE(Reset().ok());
      EXPECT_EQ(learner_.state(), v1::LEARNER_STATE_LEARNING);
      Film(street_, 3);
      EXPECT_EQ(street().Snapshot().frames.predicted, 2u);
      if (keeps_checkpoints) KeepCheckpoints();
    }
  }
}

TEST_F(LearnerServiceTest, AResetThatIsCancelledIsNone) {
  Film(street_, 3);
  const std::string run = Served("street")->run_id;
  StartUntilCancelled();
  grpc::ClientContext context;
  v1::ResetLearnerRequest request;
  request.set_stream("street");
  v1::ResetLearnerResponse response;
  std::jthread impatient([&] {
    AwaitStart();
    context.TryCancel();
  });
  EXPECT_EQ(stub_->ResetLearner(&context, request, &response).error_code(),
            grpc::StatusCode::CANCELLED);
  AwaitChanges("street");
  EXPECT_EQ(Served("street")->run_id, run);
  Film(street_, 1);
  EXPECT_EQ(street().Snapshot().frames.predicted, 3u) << "it has never stopped";
}

TEST_F(LearnerServiceTest, AResetWhoseDeadlinePassesIsNone) {
  KeepCheckpoints();
  StartUntilCancelled();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
  v1::ResetLearnerRequest request;
  request.set_stream("street");
  v1::ResetLearnerResponse response;
  EXPECT_EQ(stub_->ResetLearner(&context, request, &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  AwaitChanges("street");
  EXPECT_THAT(InFolder(), ElementsAre("checkpoint-000000000099")) << "nothing is set aside";
  EXPECT_TRUE(street().running()) << "it was started again";
}

TEST_F(LearnerServiceTest, AResetThatTheServersEndCutsShortSaysSoAndIsNone) {
  KeepCheckpoints();
  starting_ = [this](const StreamConfig& /*config*/, const std::stop_token&) {
    streams_.Stop();
    // The new incarnation's own, which has learned no less than the old one.
    std::filesystem::create_directories(folder_ / "checkpoint-000000000120");
    return absl::OkStatus();
  };
  const grpc::Status status = Reset();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "SERVER_STOPS");
  EXPECT_THAT(InFolder(), ElementsAre("checkpoint-000000000099")) << "nothing is set aside";
}

TEST_F(LearnerServiceTest, AResetThatFailsLeavesTheStreamRunning) {
  start_fails_ = absl::InternalError("no memory");
  EXPECT_EQ(Reset().error_code(), grpc::StatusCode::INTERNAL);
  Film(street_, 2);
  EXPECT_EQ(street().Snapshot().frames.predicted, 1u);
}

TEST_F(LearnerServiceTest, AnUnknownStreamIsNotFound) {
  EXPECT_EQ(Call(&v1::LearnerService::Stub::GetLearner, "gate").error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Call(&v1::LearnerService::Stub::PauseLearner, "gate").error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Call(&v1::LearnerService::Stub::ResumeLearner, "gate").error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Call(&v1::LearnerService::Stub::FreezeLearner, "gate").error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Call(&v1::LearnerService::Stub::ResetLearner, "gate").error_code(),
            grpc::StatusCode::NOT_FOUND);
  v1::Learner gate;
  gate.set_stream("gate");
  EXPECT_EQ(Update(gate, {"policy"}).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(LearnerServiceTest, WhatHasEndedTakesNoOrders) {
  End();
  for (const grpc::Status& status :
       {Pause(), Resume(), Freeze(), Update(OtherPolicy(), {"policy"})}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(ReasonOf(status), "STREAM_ENDED");
    EXPECT_THAT(status.error_message(), HasSubstr("has ended"));
  }
  ASSERT_TRUE(Get().ok());
  EXPECT_EQ(learner_.state(), v1::LEARNER_STATE_ENDED);
}

TEST_F(LearnerServiceTest, WhatHasFailedTakesNoOrders) {
  Fail();
  for (const grpc::Status& status :
       {Pause(), Resume(), Freeze(), Update(OtherPolicy(), {"policy"})}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(ReasonOf(status), "LEARNER_FAILED");
    EXPECT_THAT(status.error_message(), HasSubstr("out of memory"));
  }
  ASSERT_TRUE(Get().ok());
  EXPECT_EQ(learner_.state(), v1::LEARNER_STATE_FAILED);
}

class LabelledLearnerServiceTest : public LearnerServiceTest {
 protected:
  LabelledLearnerServiceTest()
      : LearnerServiceTest({.learner = {.labels = pipeline::LabelledTask{.outputs = 3}}}) {}
};

TEST_F(LabelledLearnerServiceTest, TakesNoPolicyForLabelsDecide) {
  v1::Learner change = OtherPolicy();
  change.set_learning_rate(0.01);
  const grpc::Status status = Update(change, {"policy", "learning_rate"});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "labels decide what the model learns from");
  EXPECT_EQ(street_.learner->rate, 1e-4) << "nothing is changed";
  EXPECT_TRUE(Update(change, {"learning_rate"}).ok());
  EXPECT_FALSE(learner_.has_policy());
}

class UnlearningLearnerServiceTest : public LearnerServiceTest {
 protected:
  UnlearningLearnerServiceTest() : LearnerServiceTest({.learner = {.learning_rate = 0}}) {}
};

TEST_F(UnlearningLearnerServiceTest, TakesNoRateForOneOfZeroCannotBeScaled) {
  v1::Learner change = OtherPolicy();
  change.set_learning_rate(0.01);
  const grpc::Status status = Update(change, {"learning_rate", "policy"});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("a learning rate of 0"));
  EXPECT_EQ(street_.learner->every, 1) << "nothing is changed";
}

}  // namespace
}  // namespace millrace::service
