// Going back to a checkpoint, and deleting one.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "pipeline/checkpoint/checkpoint_folders.h"
#include "tests/service/support/checkpoint_calls.h"
#include "tests/service/support/error_details.h"

namespace millrace::service {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

/// A read-only folder, as long as this object lives.
class ReadOnly {
 public:
  explicit ReadOnly(fs::path folder) : folder_(std::move(folder)), is_root_(geteuid() == 0) {
    Permit(fs::perms(0555), fs::perms(0444));
    if (is_root_) {  // Permissions do not stop root.
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
  starting_ = [this](const auto& /*config*/, const std::stop_token&) {
    streams_.Stop();
    Write(120);  // The new incarnation's own.
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
  starting_ = [&](const auto& /*config*/, const std::stop_token&) {
    entered.set_value();
    go_on.get_future().wait();
    return absl::OkStatus();
  };
  std::jthread restoring([&] {
    const grpc::Status status = Restore(name);
    EXPECT_TRUE(status.ok()) << status.error_message();
  });
  entered.get_future().wait();
  std::future<grpc::Status> deleted = std::async(std::launch::async, [&] { return Delete(name); });
  // A call that is served after it was, for as much as one can see from outside.
  ASSERT_TRUE(List().ok());
  EXPECT_TRUE(pipeline::IsComplete(folder_ / name)) << "it is being gone back to";
  go_on.set_value();
  EXPECT_TRUE(deleted.get().ok());
  EXPECT_FALSE(fs::exists(folder_ / name));
}

}  // namespace
}  // namespace millrace::service
