// Checkpoints that are damaged or cannot be read: an older one takes their place, and none is lost.
#include "pipeline/recovery/checkpoints.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/regular_file.h"
#include "tests/pipeline/recovery/small_checkpoints.h"

namespace millrace::pipeline {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class DamagedCheckpointsTest : public CheckpointFolderTest {
 protected:
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
};

TEST_F(DamagedCheckpointsTest, AFileCutShortIsRefused) {
  Write({1, 2});
  fs::resize_file(FileOf(2, "stage-2.safetensors"), 100);
  ExpectTheOneBefore("has 100 bytes where");
}

// Each of these hangs, or takes all memory, if it is opened.
TEST_F(DamagedCheckpointsTest, APipeOrDeviceIsRefusedWhereverItIs) {
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

TEST_F(DamagedCheckpointsTest, AFileThatIsLongerThanWrittenIsRefused) {
  Write({1, 2});
  fs::resize_file(FileOf(2, "stage-2.safetensors"), std::uintmax_t{1} << 40);
  ExpectTheOneBefore("has 1099511627776 bytes where");
}

// It takes no memory: eight gigabytes of holes, as the manifest says.
TEST_F(DamagedCheckpointsTest, AFileThatIsLargerThanItsNetworkIsNotRead) {
  Write({1, 2});
  const std::string path = FileOf(2, "manifest.json").string();
  CheckpointManifest manifest = *DecodeManifest(*ReadFile(path));
  manifest.stages[0].bytes = std::uint64_t{8} << 30;
  ASSERT_TRUE(WriteFileAtomically(path, EncodeManifest(manifest)).ok());
  fs::resize_file(FileOf(2, manifest.stages[0].name), manifest.stages[0].bytes);
  ExpectTheOneBefore("has 8589934592 bytes: the whole network has fewer");
}

TEST_F(DamagedCheckpointsTest, AFileOutsideOfItsFolderIsRefused) {
  Write({1, 2});
  const std::string path = FileOf(2, "manifest.json").string();
  CheckpointManifest manifest = *DecodeManifest(*ReadFile(path));
  manifest.stages[0].name = "../checkpoint-000000000001/stage-1.safetensors";
  ASSERT_TRUE(WriteFileAtomically(path, EncodeManifest(manifest)).ok());
  ExpectTheOneBefore("outside of its folder");
}

TEST_F(DamagedCheckpointsTest, OneFlippedBitIsRefusedWhereverItIs) {
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

TEST_F(DamagedCheckpointsTest, AMissingFileIsRefused) {
  Write({1, 2});
  fs::remove(FileOf(2, "stage-3.safetensors"));
  ExpectTheOneBefore("stage-3.safetensors");
}

TEST_F(DamagedCheckpointsTest, WhatCouldNotBeReadTakesNoPlaceOfANewOne) {
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

TEST_F(DamagedCheckpointsTest, RefusedOnesAreKeptWhereNoNewOneTakesTheirPlace) {
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

TEST_F(DamagedCheckpointsTest, OfRefusedOnesTheNewestAreKept) {
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

TEST_F(DamagedCheckpointsTest, AFolderAsideWithACheckpointThatIsKeptStays) {
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

TEST_F(DamagedCheckpointsTest, OneUnderTheNameOfAnotherIsDamagedAndTheOtherStays) {
  Write({1});
  fs::copy(FileOf(1, ""), FileOf(2, ""));
  ExpectTheOneBefore("is damaged (" + FileOf(2, "manifest.json").string() +
                     " is the manifest of checkpoint-000000000001)");
  Checkpoints checkpoints = Open();
  Checkpoints::Found found = *checkpoints.Read();
  checkpoints.SetRefusedAside(found);
  EXPECT_THAT(Names(), ElementsAre("checkpoint-000000000001", StartsWith("damaged-2")));
}

TEST_F(DamagedCheckpointsTest, WhatIsDamagedIsSaidOnce) {
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

TEST_F(DamagedCheckpointsTest, OneThatCannotBeReadStaysInPlace) {
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

TEST_F(DamagedCheckpointsTest, OneThatCannotBeReadIsNotRemovedForNewerOnes) {
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
TEST_F(DamagedCheckpointsTest, OneThatWasPassedOverStaysThoughItCanBeReadLater) {
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

TEST_F(DamagedCheckpointsTest, OneThatCannotBeReadIsSetAsideWhereANewOneTakesItsName) {
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

TEST_F(DamagedCheckpointsTest, ADamagedOneStaysUntilNewerOnesAreEnough) {
  Write({1});
  fs::resize_file(FileOf(1, "manifest.json"), 10);
  Checkpoints checkpoints = Open(/*keep=*/2);
  ASSERT_TRUE(checkpoints.Write(After(2)).ok());
  EXPECT_THAT(Names(), ElementsAre("checkpoint-000000000001", "checkpoint-000000000002"));
  ASSERT_TRUE(checkpoints.Write(After(3)).ok());
  EXPECT_THAT(Names(), ElementsAre("checkpoint-000000000002", "checkpoint-000000000003"));
}

}  // namespace
}  // namespace millrace::pipeline
