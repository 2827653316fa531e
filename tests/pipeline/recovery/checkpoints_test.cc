#include "pipeline/recovery/checkpoints.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
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
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CheckpointsTest : public ::testing::Test {
 public:
  ~CheckpointsTest() override { fs::remove_all(folder_); }

 protected:
  CheckpointsTest()
      : folder_(fs::path(::testing::TempDir()) /
                (std::string("checkpoints_test_") +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                 std::to_string(::getpid()))) {}

  [[nodiscard]] Checkpoints Open(int keep = 3) const {
    return *Checkpoints::Open({.folder = folder_.string(), .keep = keep}, chain_);
  }
  [[nodiscard]] Checkpoint After(std::int64_t sample) const {
    return CheckpointAfter(sample, chain_);
  }
  void Write(const std::vector<std::int64_t>& samples) const {
    Checkpoints checkpoints = Open();
    for (std::int64_t sample : samples) ASSERT_TRUE(checkpoints.Write(After(sample)).ok());
  }
  [[nodiscard]] std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  [[nodiscard]] fs::path FileOf(int sample, const std::string& name) const {
    std::string number = std::to_string(sample);
    number.insert(0, 12 - number.size(), '0');
    return folder_ / ("checkpoint-" + number) / name;
  }
  // The newest is damaged: the one before is used, and it is said what is wrong.
  void ExpectTheOneBefore(const std::string& complaint) const {
    const auto found = Open().Read();
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_TRUE(found->newest);
    ExpectSame(*found->newest, After(1));
    ASSERT_EQ(found->refused.size(), 1U);
    EXPECT_THAT(std::string(found->refused[0].message()),
                AllOf(HasSubstr("checkpoint-000000000002"), HasSubstr(complaint)));
  }

  const LayerChain chain_ = SmallChain();
  const fs::path folder_;
};

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

TEST_F(CheckpointsTest, AFileCutShortIsRefused) {
  Write({1, 2});
  fs::resize_file(FileOf(2, "stage-2.safetensors"), 100);
  ExpectTheOneBefore("has 100 bytes where");
}

// Each of these hangs, or takes all memory, if it is opened.
TEST_F(CheckpointsTest, APipeOrDeviceIsRefusedWhereverItIs) {
  for (const char* const name : {"stage-1.safetensors", "manifest.json"}) {
    Write({1, 2});
    const fs::path file = FileOf(2, name);
    fs::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    ExpectTheOneBefore("it is a pipe, socket or device");
    fs::remove(file);
    fs::create_symlink("/dev/zero", file);
    ExpectTheOneBefore("it is a pipe, socket or device");
    fs::remove_all(file.parent_path());
  }
}

TEST_F(CheckpointsTest, AFileThatIsLongerThanWrittenIsRefused) {
  Write({1, 2});
  fs::resize_file(FileOf(2, "stage-2.safetensors"), std::uintmax_t{1} << 40);
  ExpectTheOneBefore("has 1099511627776 bytes where");
}

// It takes no memory: eight gigabytes of holes, as the manifest says.
TEST_F(CheckpointsTest, AFileThatIsLargerThanItsNetworkIsNotRead) {
  Write({1, 2});
  const std::string path = FileOf(2, "manifest.json").string();
  CheckpointManifest manifest = *DecodeManifest(*ReadFile(path));
  manifest.stages[0].bytes = std::uint64_t{8} << 30;
  ASSERT_TRUE(WriteFileAtomically(path, EncodeManifest(manifest)).ok());
  fs::resize_file(FileOf(2, manifest.stages[0].name), manifest.stages[0].bytes);
  ExpectTheOneBefore("has 8589934592 bytes: the whole network has fewer");
}

TEST_F(CheckpointsTest, AFileOutsideOfItsFolderIsRefused) {
  Write({1, 2});
  const std::string path = FileOf(2, "manifest.json").string();
  CheckpointManifest manifest = *DecodeManifest(*ReadFile(path));
  manifest.stages[0].name = "../checkpoint-000000000001/stage-1.safetensors";
  ASSERT_TRUE(WriteFileAtomically(path, EncodeManifest(manifest)).ok());
  ExpectTheOneBefore("outside of its folder");
}

TEST_F(CheckpointsTest, OneFlippedBitIsRefusedWhereverItIs) {
  Write({1, 2});
  for (const std::string name : {"stage-1.safetensors", "stage-3.safetensors", "manifest.json"}) {
    const fs::path path = FileOf(2, name);
    const std::string whole = *ReadFile(path.string());
    for (std::size_t place = 0; place < whole.size(); place += whole.size() / 7) {
      std::string flipped = whole;
      flipped[place] ^= 1;
      ASSERT_TRUE(WriteFileAtomically(path.string(), flipped).ok());
      const auto found = Open().Read();
      ASSERT_TRUE(found.ok()) << found.status();
      ASSERT_TRUE(found->newest);
      EXPECT_EQ(found->newest->network.sample, 1) << name << " at " << place;
    }
    ASSERT_TRUE(WriteFileAtomically(path.string(), whole).ok());
  }
}

TEST_F(CheckpointsTest, AMissingFileIsRefused) {
  Write({1, 2});
  fs::remove(FileOf(2, "stage-3.safetensors"));
  ExpectTheOneBefore("stage-3.safetensors");
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

TEST_F(CheckpointsTest, WhatCouldNotBeReadTakesNoPlaceOfANewOne) {
  Write({1, 2, 3});
  for (const int damaged : {2, 3}) fs::resize_file(FileOf(damaged, "stage-2.safetensors"), 10);
  Checkpoints checkpoints = Open(/*keep=*/1);
  Checkpoint next = *checkpoints.Read()->newest;
  ASSERT_EQ(next.network.sample, 1);
  next.network.sample = 2;
  next.score = 5;  // Not the best.
  ASSERT_TRUE(checkpoints.Write(next).ok());
  EXPECT_EQ(checkpoints.Read()->newest->network.sample, 2);
}

TEST_F(CheckpointsTest, RefusedOnesAreKeptWhereNoNewOneTakesTheirPlace) {
  Write({1, 2});
  fs::resize_file(FileOf(2, "stage-2.safetensors"), 10);
  Checkpoints checkpoints = Open();
  Checkpoints::Found found = *checkpoints.Read();
  checkpoints.SetRefusedAside(found);
  const std::vector<std::string> names = Names();
  ASSERT_THAT(names, ElementsAre("checkpoint-000000000001", StartsWith("damaged-2")));
  const fs::path aside = folder_ / names[1];
  ASSERT_EQ(found.refused.size(), 1U);
  EXPECT_THAT(std::string(found.refused[0].message()),
              AllOf(StartsWith("checkpoint-000000000002 is damaged ("), HasSubstr("has 10 bytes"),
                    EndsWith("; set aside in " + aside.string())));
  ASSERT_TRUE(checkpoints.Write(After(2)).ok());
  EXPECT_EQ(fs::file_size(aside / "checkpoint-000000000002" / "stage-2.safetensors"), 10U);
}

TEST_F(CheckpointsTest, OfRefusedOnesTheNewestAreKept) {
  Write({1});
  fs::remove(FileOf(1, "stage-2.safetensors"));
  const std::string before = "damaged-20250101T000000.";
  for (const std::string end : {"001Z", "002Z", "003Z"}) {
    fs::create_directories(folder_ / (before + end) / "checkpoint-000000000001");
  }
  fs::create_directories(folder_ / "damaged-by me");
  Checkpoints checkpoints = Open();
  Checkpoints::Found found = *checkpoints.Read();
  EXPECT_FALSE(found.newest);
  checkpoints.SetRefusedAside(found);
  EXPECT_THAT(Names(), ElementsAre(before + "002Z", before + "003Z", StartsWith("damaged-2"),
                                   "damaged-by me"));
}

TEST_F(CheckpointsTest, AFolderAsideWithACheckpointThatIsKeptStays) {
  Write({1});
  fs::resize_file(FileOf(1, "stage-2.safetensors"), 10);
  const std::string before = "damaged-20250101T000000.";
  for (const std::string end : {"001Z", "002Z", "003Z", "004Z"}) {
    fs::create_directories(folder_ / (before + end) / "checkpoint-000000000001");
  }
  std::ofstream(folder_ / (before + "001Z") / "checkpoint-000000000001" / "kept").close();
  Checkpoints checkpoints = Open();
  Checkpoints::Found found = *checkpoints.Read();
  checkpoints.SetRefusedAside(found);
  EXPECT_THAT(Names(), ElementsAre(before + "001Z", before + "003Z", before + "004Z",
                                   StartsWith("damaged-2")));
}

TEST_F(CheckpointsTest, OneUnderTheNameOfAnotherIsDamagedAndTheOtherStays) {
  Write({1});
  fs::copy(FileOf(1, ""), FileOf(2, ""));
  ExpectTheOneBefore("is damaged (" + FileOf(2, "manifest.json").string() +
                     " is the manifest of checkpoint-000000000001)");
  Checkpoints checkpoints = Open();
  Checkpoints::Found found = *checkpoints.Read();
  checkpoints.SetRefusedAside(found);
  EXPECT_THAT(Names(), ElementsAre("checkpoint-000000000001", StartsWith("damaged-2")));
}

TEST_F(CheckpointsTest, WhatIsDamagedIsSaidOnce) {
  Write({1, 2});
  const std::string path = FileOf(2, "manifest.json").string();
  CheckpointManifest manifest = *DecodeManifest(*ReadFile(path));
  manifest.stages.pop_back();
  ASSERT_TRUE(WriteFileAtomically(path, EncodeManifest(manifest)).ok());
  ExpectTheOneBefore("is damaged (it has 4 layers where 6 are needed)");
}

/// Replaces a file by something that no user can read.
using PutInPlace = std::function<void(const fs::path& file)>;

const std::vector<PutInPlace> kUnreadable = {
    [](const fs::path& file) { fs::create_directory(file); },
    [](const fs::path& file) { ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0); },
    [](const fs::path& file) { fs::create_symlink(file.filename(), file); },  // Without an end.
};

TEST_F(CheckpointsTest, OneThatCannotBeReadStaysInPlace) {
  for (const char* const name : {"stage-1.safetensors", "manifest.json"}) {
    for (const PutInPlace& put : kUnreadable) {
      Write({1, 2, 3});
      fs::remove(FileOf(2, "stage-2.safetensors"));
      fs::remove(FileOf(3, name));
      put(FileOf(3, name));
      Checkpoints checkpoints = Open();
      Checkpoints::Found found = *checkpoints.Read();
      ASSERT_TRUE(found.newest);
      EXPECT_EQ(found.newest->network.sample, 1);
      checkpoints.SetRefusedAside(found);
      ASSERT_THAT(Names(), ElementsAre("checkpoint-000000000001", "checkpoint-000000000003",
                                       StartsWith("damaged-2")));
      const fs::path aside = folder_ / Names().back();
      EXPECT_TRUE(fs::exists(aside / "checkpoint-000000000002"));
      ASSERT_EQ(found.refused.size(), 2U);
      EXPECT_THAT(std::string(found.refused[0].message()),
                  AllOf(StartsWith("checkpoint-000000000003 is passed over and stays in place ("),
                        HasSubstr(FileOf(3, name).string() + " cannot be read: ")));
      EXPECT_THAT(std::string(found.refused[1].message()),
                  AllOf(HasSubstr("stage-2.safetensors is missing"),
                        EndsWith("; set aside in " + aside.string())));
      fs::remove_all(folder_);
    }
  }
}

TEST_F(CheckpointsTest, OneThatCannotBeReadIsNotRemovedForNewerOnes) {
  for (const char* const name : {"stage-1.safetensors", "manifest.json"}) {
    for (const PutInPlace& put : kUnreadable) {
      Write({1, 2});
      fs::remove(FileOf(2, name));
      put(FileOf(2, name));
      for (const int sample : {3, 5}) {  // The second process has no need to read it.
        Checkpoints checkpoints = Open(/*keep=*/1);
        ASSERT_TRUE(checkpoints.Read().ok());
        ASSERT_TRUE(checkpoints.Write(After(sample)).ok());
        ASSERT_TRUE(checkpoints.Write(After(sample + 1)).ok());
      }
      EXPECT_THAT(Names(), ElementsAre("checkpoint-000000000002", "checkpoint-000000000006"));
      EXPECT_TRUE(fs::exists(FileOf(2, "stage-2.safetensors")));
      fs::remove_all(folder_);
    }
  }
}

// As where there were too many open files at the start.
TEST_F(CheckpointsTest, OneThatWasPassedOverStaysThoughItCanBeReadLater) {
  Write({1, 2});
  const fs::path file = FileOf(2, "stage-1.safetensors");
  fs::rename(file, folder_ / "stage");
  fs::create_directory(file);
  Checkpoints checkpoints = Open(/*keep=*/1);
  ASSERT_EQ(checkpoints.Read()->newest->network.sample, 1);
  fs::remove(file);
  fs::rename(folder_ / "stage", file);
  for (const int sample : {3, 4}) ASSERT_TRUE(checkpoints.Write(After(sample)).ok());
  EXPECT_THAT(Names(), ElementsAre("checkpoint-000000000002", "checkpoint-000000000004"));
}

TEST_F(CheckpointsTest, OneThatCannotBeReadIsSetAsideWhereANewOneTakesItsName) {
  Write({1, 2});
  const fs::path file = FileOf(2, "stage-1.safetensors");
  fs::remove(file);
  fs::create_directory(file);
  Checkpoints checkpoints = Open();
  ASSERT_TRUE(checkpoints.Write(After(2)).ok());
  ExpectSame(*checkpoints.Read()->newest, After(2));
  ASSERT_THAT(Names(), ElementsAre("checkpoint-000000000001", "checkpoint-000000000002",
                                   StartsWith("replaced-2")));
  EXPECT_TRUE(fs::exists(folder_ / Names().back() / "checkpoint-000000000002" / "manifest.json"));
}

TEST_F(CheckpointsTest, ADamagedOneStaysUntilNewerOnesAreEnough) {
  Write({1});
  fs::resize_file(FileOf(1, "manifest.json"), 10);
  Checkpoints checkpoints = Open(/*keep=*/2);
  ASSERT_TRUE(checkpoints.Write(After(2)).ok());
  EXPECT_THAT(Names(), ElementsAre("checkpoint-000000000001", "checkpoint-000000000002"));
  ASSERT_TRUE(checkpoints.Write(After(3)).ok());
  EXPECT_THAT(Names(), ElementsAre("checkpoint-000000000002", "checkpoint-000000000003"));
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
