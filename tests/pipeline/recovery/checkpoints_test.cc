#include "pipeline/recovery/checkpoints.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/regular_file.h"
#include "pipeline/checkpoint/checkpoint_folders.h"
#include "tests/pipeline/recovery/small_checkpoints.h"
#include "tests/pipeline/support/small_chain.h"

namespace millrace::pipeline {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using CheckpointsTest = CheckpointFolderTest;

TEST_F(CheckpointsTest, ThereIsNoneAtFirst) {
  const auto found = Open().Read();
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->newest);
}

TEST_F(CheckpointsTest, BringsEverythingBackBitForBit) {
  Write({7});
  const auto found = Open().Read();
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->newest);
  ExpectSame(*found->newest, After(7));
  EXPECT_THAT(found->newest->cuts, ElementsAre(2, 4));
}

TEST_F(CheckpointsTest, KeepsTheNewestAndTheBest) {
  Checkpoints checkpoints = Open(/*keep=*/2);
  for (int sample = 1; sample <= 6; ++sample) {
    Checkpoint checkpoint = After(sample);
    checkpoint.score = sample == 2 ? 0.5 : 0.8;
    ASSERT_TRUE(checkpoints.Write(checkpoint).ok());
  }
  EXPECT_THAT(Names(), ElementsAre("checkpoint-000000000002", "checkpoint-000000000005",
                                   "checkpoint-000000000006"));
}

TEST_F(CheckpointsTest, OneThatWasAskedForStaysFromTheFirstMoment) {
  Checkpoints checkpoints = Open(/*keep=*/1);
  for (int sample = 1; sample <= 4; ++sample) {
    Checkpoint checkpoint = After(sample);
    checkpoint.score = 1 - 0.1 * sample;  // The newest is the best.
    checkpoint.kept = sample == 2;
    ASSERT_TRUE(checkpoints.Write(checkpoint).ok());
  }
  EXPECT_THAT(Names(), ElementsAre("checkpoint-000000000002", "checkpoint-000000000004"));
  const fs::path kept = FileOf(2, "kept");
  EXPECT_LE(fs::last_write_time(kept), fs::last_write_time(FileOf(2, "manifest.json")))
      << "it is never complete and not kept";
}

TEST_F(CheckpointsTest, WhatCannotBeRemovedIsSaid) {
  const fs::path folder = FileOf(1, "");
  EXPECT_TRUE(RemoveCheckpoint(folder).ok()) << "there is nothing there";
  fs::create_directories(folder / "manifest.json" / "in the way");
  const absl::Status status = RemoveCheckpoint(folder);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot remove " + folder.string()));
}

TEST_F(CheckpointsTest, WithoutAManifestItIsNotComplete) {
  Write({1, 2});
  fs::remove(FileOf(2, "manifest.json"));
  const auto found = Open().Read();
  ASSERT_TRUE(found.ok());
  ExpectSame(*found->newest, After(1));
  EXPECT_TRUE(found->refused.empty());
}

TEST_F(CheckpointsTest, AnotherNetworkIsRefusedWithTheDifference) {
  Write({1});
  LayerChain other = SmallChain();
  other.layers[3] = std::make_unique<SmallLayer>("another", 0);
  const absl::Status named =
      Checkpoints::Open({.folder = folder_.string()}, other)->Read().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(named));
  EXPECT_THAT(std::string(named.message()),
              HasSubstr("layer 3 is \"layer 3\" where \"another\" is needed"));
  other.layers.pop_back();
  other.layers[3] = std::make_unique<SmallLayer>("layer 3", 0);
  const absl::Status longer =
      Checkpoints::Open({.folder = folder_.string()}, other)->Read().status();
  EXPECT_THAT(std::string(longer.message()), HasSubstr("6 layers where 5 are needed"));
}

TEST_F(CheckpointsTest, AnotherVersionIsRefused) {
  Write({1});
  std::string text = *ReadFile(FileOf(1, "manifest.json").string());
  const std::string other = "\"version\": 2";
  text.replace(text.find("\"version\": 1"), other.size(), other);
  ASSERT_TRUE(WriteFileAtomically(FileOf(1, "manifest.json").string(), text).ok());
  const absl::Status refused = Open().Read().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("version 2 of the format, where 1"));
}

TEST_F(CheckpointsTest, LeavesOtherFoldersAlone) {
  Write({1});
  for (const std::string name : {"checkpoint-good", "checkpoint-9", "notes"}) {
    fs::copy(folder_ / "checkpoint-000000000001", folder_ / name);
  }
  EXPECT_EQ(Open().Read()->folder, (folder_ / "checkpoint-000000000001").string());
  Write({2, 3, 4, 5});
  EXPECT_TRUE(fs::exists(folder_ / "checkpoint-good"));
}

TEST_F(CheckpointsTest, WhatAKilledWriterLeftIsRemovedBeforeAnythingIsWritten) {
  Write({1});
  fs::create_directories(folder_ / "checkpoint-000000000002");
  std::ofstream(folder_ / "manifest.json.4711.tmp").close();
  static_cast<void>(Open());
  EXPECT_THAT(Names(), ElementsAre("checkpoint-000000000001"));
}

TEST_F(CheckpointsTest, ANumberThatIsNotFiniteIsNeverWritten) {
  Checkpoint bad = After(1);
  bad.network.layers[2].optimizer.of_parameters[0][0].fill_(
      std::numeric_limits<double>::infinity());
  EXPECT_TRUE(absl::IsDataLoss(Open().Write(bad)));
  EXPECT_THAT(Names(), ElementsAre());
}

// Writes checkpoints without end, until it is killed, and tells each that is written.
[[noreturn]] void WriteForEver(const std::string& folder, const LayerChain& chain,
                               std::int64_t from, int told) {
  Checkpoints checkpoints = *Checkpoints::Open({.folder = folder, .keep = 2}, chain);
  for (std::int64_t sample = from;; ++sample) {
    if (!checkpoints.Write(CheckpointAfter(sample, chain)).ok()) ::_exit(1);
    if (::write(told, &sample, sizeof(sample)) != sizeof(sample)) ::_exit(1);
  }
}

// Starts a writer, kills it some time later, and returns the last checkpoint that it said was
// written; `from` - 1 if it said nothing.
std::int64_t KillAWriter(const std::string& folder, const LayerChain& chain, std::int64_t from,
                         std::chrono::microseconds after) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  const pid_t writer = ::fork();
  EXPECT_GE(writer, 0);
  if (writer == 0) WriteForEver(folder, chain, from, pipe[1]);
  ::close(pipe[1]);
  std::this_thread::sleep_for(after);
  EXPECT_EQ(::kill(writer, SIGKILL), 0);
  int status = 0;
  EXPECT_EQ(::waitpid(writer, &status, 0), writer);
  EXPECT_TRUE(WIFSIGNALED(status)) << "it stopped by itself";
  std::int64_t last = from - 1;
  while (::read(pipe[0], &last, sizeof(last)) == sizeof(last)) {
  }
  ::close(pipe[0]);
  return last;
}

// Killed at any instant, the next process finds a whole checkpoint, and none older than the last
// that was written.
TEST_F(CheckpointsTest, TwoHundredKillsLoseNoCompleteCheckpoint) {
  at::set_num_threads(1);  // So that this process has one thread, and may fork.
  std::mt19937 random(5);
  const auto began = std::chrono::steady_clock::now();
  Write({0});
  std::chrono::microseconds a_write = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - began);
  std::int64_t last = 0;
  for (int kill = 0; kill < 200; ++kill) {
    const std::int64_t written =
        KillAWriter(folder_.string(), chain_, last + 1, a_write * (random() % 400) / 100);
    const auto found = Open().Read();
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_TRUE(found->newest) << "kill " << kill;
    EXPECT_TRUE(found->refused.empty()) << found->refused.front();
    // The machine may be slower than it was: a writer gets the time for about one or two.
    a_write = written == last ? a_write * 5 / 4 : a_write * 49 / 50;
    last = found->newest->network.sample;
    EXPECT_GE(last, written);
    EXPECT_LE(last, written + 1) << "only the one that it was about to tell may be there besides";
    ExpectSame(*found->newest, After(last));
  }
  EXPECT_GT(last, 100) << "the writer hardly ever got to write";
}

}  // namespace
}  // namespace millrace::pipeline
