#include "service/checkpoint_service.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/checkpoint_folders.h"
#include "service/subscribers.h"
#include "tests/base/temporary_folder.h"
#include "tests/service/checkpoint_on_disk.h"
#include "tests/service/error_details.h"
#include "tests/service/grpc_fixture.h"
#include "tests/service/subscriber.h"

namespace millrace::service {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// The stream "street" keeps checkpoints; "yard" keeps none.
class CheckpointServiceTest : public GrpcFixture {
 protected:
  CheckpointServiceTest() : CheckpointServiceTest(GrpcServer::Options()) {}
  explicit CheckpointServiceTest(const GrpcServer::Options& server)
      : GrpcFixture(FakeStreamOptions(), server) {
    StreamConfig config = Served("street")->config();
    config.learner.checkpoints.folder = folder_;
    Served("street")->SetConfig(config);
  }

  std::string Write(std::int64_t sample, double score = 0.5, int stages = 2) const {
    return WriteCheckpoint(folder_, sample, score, stages);
  }

  template <typename Request>
  static Request Of(const std::string& stream, const std::string& name) {
    Request request;
    request.set_stream(stream);
    request.set_name(name);
    return request;
  }

  grpc::Status Create(const std::string& stream = "street",
                      std::chrono::seconds limit = std::chrono::seconds(60)) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + limit);
    v1::CreateCheckpointRequest request;
    request.set_stream(stream);
    v1::CreateCheckpointResponse response;
    const grpc::Status status = stub_->CreateCheckpoint(&context, request, &response);
    checkpoint_ = response.checkpoint();
    return status;
  }

  grpc::Status List(const std::string& stream = "street") {
    grpc::ClientContext context;
    v1::ListCheckpointsRequest request;
    request.set_stream(stream);
    list_.Clear();
    return stub_->ListCheckpoints(&context, request, &list_);
  }

  std::vector<std::string> Names() {
    EXPECT_TRUE(List().ok());
    std::vector<std::string> names;
    for (const v1::Checkpoint& checkpoint : list_.checkpoints()) names.push_back(checkpoint.name());
    return names;
  }

  grpc::Status Restore(const std::string& name, const std::string& stream = "street") {
    grpc::ClientContext context;
    v1::RestoreCheckpointResponse response;
    return stub_->RestoreCheckpoint(&context, Of<v1::RestoreCheckpointRequest>(stream, name),
                                    &response);
  }

  grpc::Status Delete(const std::string& name, const std::string& stream = "street") {
    grpc::ClientContext context;
    v1::DeleteCheckpointResponse response;
    return stub_->DeleteCheckpoint(&context, Of<v1::DeleteCheckpointRequest>(stream, name),
                                   &response);
  }

  /// The files of a checkpoint by name, in `order_`.
  grpc::Status Download(const std::string& name, std::map<std::string, std::string>& files,
                        const std::string& stream = "street") {
    grpc::ClientContext context;
    const auto reader =
        stub_->DownloadCheckpoint(&context, Of<v1::DownloadCheckpointRequest>(stream, name));
    v1::DownloadCheckpointResponse piece;
    while (reader->Read(&piece)) {
      if (!files.contains(piece.file())) order_.push_back(piece.file());
      files[piece.file()] += piece.data();
      EXPECT_LE(files[piece.file()].size(), piece.file_bytes());
    }
    return reader->Finish();
  }

  const TemporaryFolder temporary_;
  const fs::path& folder_ = temporary_.path();
  std::unique_ptr<v1::CheckpointService::Stub> stub_ = v1::CheckpointService::NewStub(channel_);
  v1::Checkpoint checkpoint_;
  v1::ListCheckpointsResponse list_;
  std::vector<std::string> order_;
};

TEST_F(CheckpointServiceTest, ListsWhatIsCompleteNewestFirst) {
  Write(99, 0.75);
  const std::string newest = Write(199);
  fs::create_directories(folder_ / pipeline::CheckpointName(299));  // It was never finished.
  EXPECT_THAT(Names(), ElementsAre(newest, "checkpoint-000000000099"));
  const v1::Checkpoint& oldest = list_.checkpoints(1);
  EXPECT_EQ(oldest.stream(), "street");
  EXPECT_EQ(oldest.sample(), 99);
  EXPECT_EQ(oldest.score(), 0.75);
  EXPECT_EQ(oldest.bytes(), 3'000'000u);
  EXPECT_FALSE(oldest.kept());
  EXPECT_GT(oldest.create_time().seconds(), 1'600'000'000);
}

/// What an asynchronous call has come to.
struct Asked {
  grpc::ClientContext context;
  v1::CreateCheckpointRequest request;
  v1::CreateCheckpointResponse response;
  std::promise<grpc::Status> done;
};

/// Calls that wait, any number of them.
class WaitingForCheckpointsTest : public CheckpointServiceTest {
 protected:
  /// Asks for a checkpoint, and returns once the learner has been asked.
  std::future<grpc::Status> Ask() {
    asked_.push_back(std::make_unique<Asked>());
    Asked& call = *asked_.back();
    const int before = street_.learner->checkpoints_asked_for;
    call.request.set_stream("street");
    stub_->async()->CreateCheckpoint(
        &call.context, &call.request, &call.response,
        [&call](const grpc::Status& status) { call.done.set_value(status); });
    while (street_.learner->checkpoints_asked_for == before) std::this_thread::yield();
    return call.done.get_future();
  }

  void SayWritten(const std::string& name, std::int64_t answers) {
    street_.on_checkpoint({.name = name, .answers = answers});
  }

  std::vector<std::unique_ptr<Asked>> asked_;
};

TEST_F(WaitingForCheckpointsTest, OneThatWasAskedForComesWhenItIsWritten) {
  std::future<grpc::Status> call = Ask();
  const std::string name = Write(199);
  ASSERT_TRUE(pipeline::Keep(folder_ / name).ok());  // As the learner does.
  SayWritten(name, 1);
  ASSERT_TRUE(call.get().ok());
  EXPECT_EQ(asked_[0]->response.checkpoint().name(), "checkpoint-000000000199");
  EXPECT_TRUE(asked_[0]->response.checkpoint().kept());
}

TEST_F(WaitingForCheckpointsTest, OneWhoWaitsKeepsNobodyElseWaiting) {
  std::vector<std::future<grpc::Status>> calls;
  for (int i = 0; i < 20; ++i)
    calls.push_back(Ask());  // Each was asked for: none waits for another.
  asked_[7]->context.TryCancel();
  EXPECT_EQ(calls[7].get().error_code(), grpc::StatusCode::CANCELLED);
  const std::string name = Write(199);
  SayWritten(name, 20);
  for (int i = 0; i < 20; ++i) {
    if (i != 7) {
      EXPECT_TRUE(calls[i].get().ok());
    }
  }
}

TEST_F(WaitingForCheckpointsTest, OneTooManyIsToldToTryAgain) {
  constexpr int kMayWait = 64;
  std::vector<std::future<grpc::Status>> calls;
  for (int i = 0; i < kMayWait; ++i) calls.push_back(Ask());
  const grpc::Status status = Create();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "TOO_MANY_CHANGES");
  EXPECT_TRUE(DetailsOf(status).has_retry);
  SayWritten(Write(199), kMayWait);
  for (auto& call : calls) EXPECT_TRUE(call.get().ok());
}

TEST_F(WaitingForCheckpointsTest, WhyNoneCouldBeWrittenIsTold) {
  std::future<grpc::Status> call = Ask();
  street_.on_checkpoint(
      {.status = absl::ResourceExhaustedError("no space left on the disk"), .answers = 1});
  const grpc::Status status = call.get();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "no space left on the disk");
}

TEST_F(WaitingForCheckpointsTest, WhoWaitsIsToldWhenTheStreamEndsOrTimeIsUp) {
  EXPECT_EQ(Create("street", std::chrono::seconds(1)).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  std::future<grpc::Status> call = Ask();
  ASSERT_TRUE(control_.Delete({.name = "street"}).ok());
  EXPECT_EQ(call.get().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(WaitingForCheckpointsTest, WhoWaitsIsToldThatTheLearnerWasPaused) {
  for (const LearnerState mode : {LearnerState::kPaused, LearnerState::kFrozen}) {
    std::future<grpc::Status> call = Ask();
    ASSERT_TRUE(street().SetMode(mode).ok());
    const grpc::Status status = call.get();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(ReasonOf(status), "NOT_LEARNING");
    EXPECT_EQ(DetailsOf(status).info.metadata().at("state"), Name(mode));
    EXPECT_THAT(status.error_message(), HasSubstr("resume it first"));
    ASSERT_TRUE(street().SetMode(LearnerState::kLearning).ok());
  }
}

// The stream itself lives on: its camera is watched, and somebody may reset it.
TEST_F(WaitingForCheckpointsTest, WhoWaitsIsToldThatTheLearnerHasFailed) {
  std::future<grpc::Status> call = Ask();
  street_.learner->Fail(absl::InternalError("out of memory"));
  street_.source->Push();
  street_.source->Push();
  for (const grpc::Status& status : {call.get(), Create()}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(ReasonOf(status), "LEARNER_FAILED");
    EXPECT_THAT(status.error_message(), HasSubstr("out of memory"));
  }
}

TEST_F(WaitingForCheckpointsTest, OneThatIsGoneAgainIsNotFound) {
  std::future<grpc::Status> call = Ask();
  SayWritten(pipeline::CheckpointName(199), 1);
  EXPECT_EQ(call.get().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(CheckpointServiceTest, APausedLearnerProvesNoWeights) {
  ASSERT_TRUE(street().SetMode(LearnerState::kPaused).ok());
  const grpc::Status status = Create();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("the learner is paused"));
}

TEST_F(CheckpointServiceTest, AStreamThatHasEndedWritesNone) {
  street_.source->End();
  while (!street().ended()) std::this_thread::yield();
  const grpc::Status status = Create();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "STREAM_ENDED");
  EXPECT_EQ(DetailsOf(status).info.metadata().at("stream"), "street");
}

TEST_F(CheckpointServiceTest, GoingBackSetsWhatIsNewerAside) {
  const std::string good = Write(99);
  const std::string older = Write(49);
  Write(199);
  const std::string run = Served("street")->run_id;
  ASSERT_TRUE(Restore(good).ok());
  EXPECT_NE(Served("street")->run_id, run);
  EXPECT_THAT(Names(), ElementsAre(good, older));
  int aside = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().filename().string().starts_with("restored-2")) {
      ++aside;
      EXPECT_TRUE(fs::exists(entry.path() / "checkpoint-000000000199" / "manifest.json"));
    }
  }
  EXPECT_EQ(aside, 1);
}

TEST_F(CheckpointServiceTest, WhereGoingBackFailsNothingHasMoved) {
  const std::string good = Write(99);
  const std::string newest = Write(199);
  start_fails_ = absl::InternalError("no memory");
  EXPECT_EQ(Restore(good).error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(Names(), ElementsAre(newest, good));
  Film(street_, 2);
  EXPECT_EQ(street().Snapshot().frames.predicted, 1u) << "it runs on";
}

/// A folder in which nobody can change anything, for as long as this lives.
class ReadOnly {
 public:
  explicit ReadOnly(fs::path folder) : folder_(std::move(folder)), is_root_(geteuid() == 0) {
    Permit(fs::perms(0555), fs::perms(0444));
    if (is_root_) {  // Whom no permissions stop.
      EXPECT_EQ(seteuid(kNobody), 0);
    }
  }
  ~ReadOnly() {
    if (is_root_) {
      EXPECT_EQ(seteuid(0), 0);
    }
    Permit(fs::perms(0755), fs::perms(0644));
  }
  ReadOnly(const ReadOnly&) = delete;
  ReadOnly& operator=(const ReadOnly&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;

  void Permit(fs::perms folders, fs::perms files) const {
    fs::permissions(folder_, folders);
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      fs::permissions(entry.path(), entry.is_directory() ? folders : files);
    }
  }

  const fs::path folder_;
  const bool is_root_;
};

TEST_F(CheckpointServiceTest, WhereNewerOnesCannotBeSetAsideTheStreamGoesOn) {
  const std::string good = Write(99);
  ASSERT_TRUE(pipeline::Keep(folder_ / good).ok());
  const std::string newest = Write(199);
  {
    const ReadOnly folder(folder_);
    const grpc::Status status = Restore(good);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(status.error_message(), HasSubstr(absl::StrCat("cannot make ", folder_.string())));
  }
  EXPECT_THAT(Names(), ElementsAre(newest, good));
  Film(street_, 2);
  EXPECT_EQ(street().Snapshot().frames.predicted, 1u) << "it was started again";
}

TEST_F(CheckpointServiceTest, OneThatCannotBeRemovedStays) {
  const std::string name = Write(99);
  {
    const ReadOnly folder(folder_);
    const grpc::Status status = Delete(name);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(status.error_message(), HasSubstr("cannot remove"));
  }
  EXPECT_THAT(Names(), ElementsAre(name));
  EXPECT_TRUE(Delete(name).ok());
}

TEST_F(CheckpointServiceTest, GoingBackThatTheServersEndCutsShortSaysSo) {
  const std::string good = Write(99);
  const std::string newest = Write(199);
  starting_ = [this](const auto& /*config*/) {
    streams_.Stop();
    Write(120);  // The new life's own.
    return absl::OkStatus();
  };
  const grpc::Status status = Restore(good);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "SERVER_STOPS");
  EXPECT_THAT(Names(), ElementsAre(newest, good)) << "the next server goes on from the newest";
}

TEST_F(CheckpointServiceTest, GoingBackKeepsItsCheckpointFromTheOldLifesLastOne) {
  const std::string good = Write(99);
  street_.learner->AtEnd([&] {
    Write(199);
    if (!pipeline::IsKept(folder_ / good)) (void)pipeline::RemoveCheckpoint(folder_ / good);
  });
  ASSERT_TRUE(Restore(good).ok());
  EXPECT_THAT(Names(), ElementsAre(good));
  EXPECT_FALSE(list_.checkpoints(0).kept()) << "it is one of many again";
}

TEST_F(CheckpointServiceTest, OneThatWasKeptIsKeptStillWhenItWasGoneBackTo) {
  const std::string good = Write(99);
  ASSERT_TRUE(pipeline::Keep(folder_ / good).ok());
  ASSERT_TRUE(Restore(good).ok());
  ASSERT_THAT(Names(), ElementsAre(good));
  EXPECT_TRUE(list_.checkpoints(0).kept());
}

TEST_F(CheckpointServiceTest, WhereItsCheckpointIsGoneTheStreamGoesOnFromTheNewest) {
  const std::string good = Write(99);
  const std::string newest = Write(199);
  street_.learner->AtEnd([&] { (void)pipeline::RemoveCheckpoint(folder_ / good); });
  const grpc::Status status = Restore(good);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonOf(status), "CHECKPOINT_NOT_FOUND");
  EXPECT_THAT(Names(), ElementsAre(newest)) << "nothing is set aside";
  EXPECT_TRUE(street().running());
}

TEST_F(CheckpointServiceTest, WhereItsCheckpointCannotBeKeptTheStreamHasNotStopped) {
  const std::string good = Write(99);
  const std::string newest = Write(199);
  const std::string run = Served("street")->run_id;
  {
    const ReadOnly folder(folder_);
    EXPECT_EQ(Restore(good).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  }
  EXPECT_EQ(Served("street")->run_id, run);
  EXPECT_THAT(Names(), ElementsAre(newest, good));
}

TEST_F(CheckpointServiceTest, ADamagedOneIsNotGoneBackTo) {
  const std::string name = Write(99);
  std::ofstream(folder_ / name / "stage-2.safetensors", std::ios::app) << "x";
  const std::string run = Served("street")->run_id;
  const grpc::Status status = Restore(name);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_THAT(status.error_message(), HasSubstr("has 1500001 bytes where 1500000 were written"));
  EXPECT_EQ(Served("street")->run_id, run) << "the stream goes on";
}

TEST_F(CheckpointServiceTest, ADeletedOneIsGone) {
  const std::string name = Write(99);
  ASSERT_TRUE(pipeline::Keep(folder_ / name).ok());
  ASSERT_TRUE(Delete(name).ok());
  EXPECT_FALSE(fs::exists(folder_ / name));
  const grpc::Status again = Delete(name);
  EXPECT_EQ(again.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonOf(again), "CHECKPOINT_NOT_FOUND");
}

// What is gone back to must not be removed under it.
TEST_F(CheckpointServiceTest, IsDeletedAfterTheChangesBefore) {
  const std::string name = Write(99);
  std::promise<void> entered;
  std::promise<void> go_on;
  starting_ = [&](const auto& /*config*/) {
    entered.set_value();
    go_on.get_future().wait();
    return absl::OkStatus();
  };
  std::jthread restoring([&] { EXPECT_TRUE(Restore(name).ok()); });
  entered.get_future().wait();
  std::future<grpc::Status> deleted = std::async(std::launch::async, [&] { return Delete(name); });
  // A call that is served after it was, for as much as one can see from outside.
  ASSERT_TRUE(List().ok());
  EXPECT_TRUE(pipeline::IsComplete(folder_ / name)) << "it is being gone back to";
  go_on.set_value();
  EXPECT_TRUE(deleted.get().ok());
  EXPECT_FALSE(fs::exists(folder_ / name));
}

TEST_F(CheckpointServiceTest, ADownloadEndsWhereTheCheckpointIsDeletedMeanwhile) {
  const std::string name = Write(99, 0.5, /*stages=*/24);
  grpc::ClientContext context;
  const auto reader =
      stub_->DownloadCheckpoint(&context, Of<v1::DownloadCheckpointRequest>("street", name));
  v1::DownloadCheckpointResponse piece;
  ASSERT_TRUE(reader->Read(&piece));
  ASSERT_TRUE(Delete(name).ok());
  std::set<std::string> files;
  while (reader->Read(&piece)) files.insert(piece.file());
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_THAT(status.error_message(), HasSubstr("the checkpoint may have been removed"));
  EXPECT_THAT(files, Not(Contains("manifest.json"))) << "it is not taken for complete";
}

// More than a connection holds for a client that does not read. The server, when it ends, waits for
// every call that it still has.
TEST_F(CheckpointServiceTest, ADownloadThatNobodyWantsAnyMoreEnds) {
  const auto request = Of<v1::DownloadCheckpointRequest>("street", Write(99, 0.5, /*stages=*/24));
  v1::DownloadCheckpointResponse piece;
  {
    grpc::ClientContext context;
    const auto reader = stub_->DownloadCheckpoint(&context, request);
    ASSERT_TRUE(reader->Read(&piece));
    context.TryCancel();
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
  const auto reader = stub_->DownloadCheckpoint(&context, request);
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

class ImpatientCheckpointServiceTest : public CheckpointServiceTest {
 protected:
  ImpatientCheckpointServiceTest()
      : CheckpointServiceTest({.stall_limit = std::chrono::milliseconds(500)}) {}

  /// Downloads that have ended with RESOURCE_EXHAUSTED, whether their clients know or not.
  [[nodiscard]] std::uint64_t LetGo() const {
    for (const CallCounts::Method& method : streams_.calls().Read()) {
      if (!method.name.ends_with("/DownloadCheckpoint")) continue;
      return method.calls[static_cast<int>(grpc::StatusCode::RESOURCE_EXHAUSTED)];
    }
    return 0;
  }
};

TEST_F(ImpatientCheckpointServiceTest, ADownloadOfWhichNothingIsTakenIsLetGoAndToldWhy) {
  const auto own = v1::CheckpointService::NewStub(NewChannel());
  grpc::ClientContext context;
  const auto reader = own->DownloadCheckpoint(
      &context, Of<v1::DownloadCheckpointRequest>("street", Write(99, 0.5, /*stages=*/24)));
  reader->WaitForInitialMetadata();
  while (LetGo() == 0) std::this_thread::yield();
  v1::DownloadCheckpointResponse piece;
  while (reader->Read(&piece)) continue;
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "SLOW_SUBSCRIBER");
  EXPECT_EQ(DetailsOf(status).info.metadata().at("stream"), "street");
  EXPECT_THAT(status.error_message(), HasSubstr("this client took nothing for 0.5 s"));
}

TEST_F(CheckpointServiceTest, ADownloadIsRefusedWhereThereAreTooManySubscribers) {
  std::vector<std::unique_ptr<Subscriber>> all;
  for (std::size_t i = 0; i < Subscribers::kMost; ++i) {
    all.push_back(std::make_unique<Subscriber>(*channel_, To("yard")));
  }
  std::map<std::string, std::string> files;
  const std::string name = Write(99);
  const grpc::Status status = Download(name, files);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "TOO_MANY_SUBSCRIBERS");
}

TEST_F(CheckpointServiceTest, DownloadsEveryFileWithTheManifestLast) {
  const std::string name = Write(99);
  std::map<std::string, std::string> files;
  ASSERT_TRUE(Download(name, files).ok());
  EXPECT_THAT(order_, ElementsAre("stage-2.safetensors", "stage-1.safetensors", "manifest.json"));
  EXPECT_EQ(files["stage-2.safetensors"], std::string(1'500'000, '2'));
  EXPECT_TRUE(pipeline::DecodeManifest(files["manifest.json"]).ok());
}

TEST_F(CheckpointServiceTest, WhatIsNotThereOrNotNamedIsSaid) {
  std::map<std::string, std::string> files;
  for (const auto& [status, code] : std::vector<std::pair<grpc::Status, grpc::StatusCode>>{
           {Restore("checkpoint-1"), grpc::StatusCode::NOT_FOUND},
           {Restore("../street"), grpc::StatusCode::NOT_FOUND},
           {Delete("..", "street"), grpc::StatusCode::NOT_FOUND},
           {Download("checkpoint-1", files), grpc::StatusCode::NOT_FOUND},
           {Create("gate"), grpc::StatusCode::NOT_FOUND},
           {List("gate"), grpc::StatusCode::NOT_FOUND},
           {Restore("x", "gate"), grpc::StatusCode::NOT_FOUND},
           {Delete("x", "gate"), grpc::StatusCode::NOT_FOUND},
           {Download("x", files, "gate"), grpc::StatusCode::NOT_FOUND},
           {Restore(""), grpc::StatusCode::INVALID_ARGUMENT},
           {Restore("x", ""), grpc::StatusCode::INVALID_ARGUMENT},
           {Delete("x", ""), grpc::StatusCode::INVALID_ARGUMENT},
           {Download("", files), grpc::StatusCode::INVALID_ARGUMENT},
           {Create("yard"), grpc::StatusCode::FAILED_PRECONDITION},
           {List("yard"), grpc::StatusCode::FAILED_PRECONDITION},
           {Restore("x", "yard"), grpc::StatusCode::FAILED_PRECONDITION},
           {Delete("x", "yard"), grpc::StatusCode::FAILED_PRECONDITION},
           {Download("x", files, "yard"), grpc::StatusCode::FAILED_PRECONDITION}}) {
    EXPECT_EQ(status.error_code(), code) << status.error_message();
  }
  EXPECT_TRUE(files.empty());
}

}  // namespace
}  // namespace millrace::service
