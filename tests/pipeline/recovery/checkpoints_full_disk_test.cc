// A disk that fills up at any write of a checkpoint: the previous checkpoint remains valid, and
// nothing of the new one is left.
#include "pipeline/recovery/checkpoints.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/recovery/small_checkpoints.h"
#include "tests/pipeline/support/small_chain.h"

namespace millrace::pipeline {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// In the order in which they are written.
const std::vector<std::string> kFiles = {"stage-1.safetensors", "stage-2.safetensors",
                                         "stage-3.safetensors", "manifest.json"};

// Limits the size of this process's files while it lives: a write fails in the middle of a file.
class ShortFiles {
 public:
  explicit ShortFiles(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~ShortFiles() { ::setrlimit(RLIMIT_FSIZE, &before_); }

  ShortFiles(const ShortFiles&) = delete;
  ShortFiles& operator=(const ShortFiles&) = delete;

 private:
  rlimit before_{};
};

class CheckpointsFullDiskTest : public ::testing::Test {
 public:
  ~CheckpointsFullDiskTest() override { fs::remove_all(folder_); }

 protected:
  CheckpointsFullDiskTest() { fs::create_directories(folder_); }

  [[nodiscard]] Checkpoints Open() const {
    return *Checkpoints::Open({.folder = folder_.string()}, chain_);
  }
  // Each of its files is longer than the one before: one, two and three layers, and much to say.
  [[nodiscard]] Checkpoint After(std::int64_t sample) const {
    Checkpoint checkpoint = CheckpointAfter(sample, chain_, {1, 3});
    checkpoint.facts["said"] = std::string(8000, 'x');
    return checkpoint;
  }
  void ExpectTheOneBefore() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.is_directory()) names.push_back(entry.path().filename().string());
    }
    EXPECT_THAT(names, ElementsAre("checkpoint-000000000001")) << "nothing is left of the other";
    const auto found = Open().Read();
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_TRUE(found->newest);
    ExpectSame(*found->newest, After(1));
    EXPECT_TRUE(found->refused.empty());
  }

  const LayerChain chain_ = SmallChain();
  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("full_disk_test_" + std::to_string(::getpid()));
};

TEST_F(CheckpointsFullDiskTest, AFileThatCannotGrowLeavesThoseBefore) {
  ASSERT_TRUE(Open().Write(After(1)).ok());
  const fs::path first = folder_ / "checkpoint-000000000001";
  std::uintmax_t limit = 0;
  for (const std::string& file : kFiles) {
    const std::uintmax_t size = fs::file_size(first / file);
    ASSERT_GT(size, limit) << "no limit would stop this file and none before";
    for (const std::uintmax_t last = size - 1; limit <= last; limit += (last - limit) / 5 + 1) {
      Checkpoints checkpoints = Open();
      absl::Status written;
      {
        const ShortFiles full(limit);
        written = checkpoints.Write(After(2));
      }
      EXPECT_THAT(std::string(written.message()),
                  AllOf(HasSubstr("cannot write"), HasSubstr("checkpoint-000000000002/" + file)))
          << "with files of " << limit << " bytes";
    }
    ExpectTheOneBefore();
    limit = size;
  }
  const ShortFiles enough(limit);
  EXPECT_TRUE(Open().Write(After(2)).ok()) << "the next try";
}

// Writes to a file of /proc/self, which takes it whole or not at all.
bool Tell(const char* file, const std::string& text) {
  return static_cast<bool>(std::ofstream(file) << text << std::flush);
}

// Gives this process its own mounts, and a disk in memory at `folder`, of this number of bytes. The
// disk ends with the process. False if the system forbids it.
bool MountDisk(const std::string& folder) {
  const std::string user = std::to_string(::getuid());
  const std::string group = std::to_string(::getgid());
  return ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && Tell("/proc/self/setgroups", "deny") &&
         Tell("/proc/self/uid_map", "0 " + user + " 1") &&
         Tell("/proc/self/gid_map", "0 " + group + " 1") &&
         ::mount("none", folder.c_str(), "tmpfs", 0, "size=1m,nr_inodes=1000") == 0;
}

struct statvfs UseOf(const std::string& folder) {
  struct statvfs use {};
  EXPECT_EQ(::statvfs(folder.c_str(), &use), 0);
  return use;
}

// Leaves room for this number of pages, or of files and folders, on the disk.
void LimitPages(const std::string& folder, std::uint64_t free) {
  const struct statvfs use = UseOf(folder);
  const std::uint64_t pages = use.f_blocks - use.f_bfree + free;
  const std::string size = "size=" + std::to_string(pages * use.f_bsize) + ",nr_inodes=1000";
  ASSERT_EQ(::mount("none", folder.c_str(), "tmpfs", MS_REMOUNT, size.c_str()), 0);
}

void LimitFiles(const std::string& folder, std::uint64_t free) {
  const struct statvfs use = UseOf(folder);
  const std::string files = "size=1m,nr_inodes=" + std::to_string(use.f_files - use.f_ffree + free);
  ASSERT_EQ(::mount("none", folder.c_str(), "tmpfs", MS_REMOUNT, files.c_str()), 0);
}

using Limit = std::function<void(const std::string& folder, std::uint64_t free)>;

class CheckpointsRealDiskTest : public CheckpointsFullDiskTest {
 protected:
  // Runs `test` on a disk of its own, in a process of its own, and fails as it does.
  void OnADisk(const std::function<void()>& test) const {
    constexpr int kNoDisk = 77;
    at::set_num_threads(1);  // So that this process has one thread, and may fork.
    std::fflush(nullptr);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (!MountDisk(folder_.string())) ::_exit(kNoDisk);
      test();
      std::fflush(nullptr);
      ::_exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == kNoDisk) GTEST_SKIP() << "may not mount a disk in memory here";
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }

  // Tries to write checkpoint 2 with no more room than that.
  [[nodiscard]] absl::Status WriteWithin(const Limit& limit, std::uint64_t free) const {
    Checkpoints checkpoints = Open();
    limit(folder_.string(), free);
    absl::Status written = checkpoints.Write(After(2));
    limit(folder_.string(), 20);
    return written;
  }

  // Leaves room for nothing, then for one thing more each time, until the checkpoint fits. Returns
  // what did not fit, in the order in which it was met.
  [[nodiscard]] std::vector<std::string> WhatFails(const Limit& limit) const {
    std::vector<std::string> failed;
    for (std::uint64_t free = 0; free < 20; ++free) {
      const absl::Status written = WriteWithin(limit, free);
      if (written.ok()) break;
      EXPECT_TRUE(absl::IsResourceExhausted(written)) << written;
      const std::string said(written.message());
      EXPECT_THAT(said, HasSubstr("No space left on device"));
      failed.push_back(said.substr(said.find("checkpoint-")));
      ExpectTheOneBefore();
    }
    failed.erase(std::unique(failed.begin(), failed.end()), failed.end());
    return failed;
  }
};

TEST_F(CheckpointsRealDiskTest, WithoutPagesEveryFileFailsInTurn) {
  OnADisk([this] {
    ASSERT_TRUE(Open().Write(After(1)).ok());
    const std::vector<std::string> failed = WhatFails(LimitPages);
    ASSERT_EQ(failed.size(), kFiles.size());
    for (std::size_t i = 0; i < failed.size(); ++i) {
      EXPECT_THAT(failed[i], HasSubstr("checkpoint-000000000002/" + kFiles[i]));
    }
    EXPECT_EQ(Open().Read()->newest->network.sample, 2) << "at last it fitted";
  });
}

TEST_F(CheckpointsRealDiskTest, WithoutPlacesForFilesTheFolderFailsFirst) {
  OnADisk([this] {
    ASSERT_TRUE(Open().Write(After(1)).ok());
    const std::vector<std::string> failed = WhatFails(LimitFiles);
    ASSERT_EQ(failed.size(), kFiles.size() + 1);
    EXPECT_THAT(failed[0], HasSubstr("checkpoint-000000000002"));
    for (std::size_t i = 1; i < failed.size(); ++i) {
      EXPECT_THAT(failed[i], HasSubstr("checkpoint-000000000002/" + kFiles[i - 1]));
    }
    EXPECT_EQ(Open().Read()->newest->network.sample, 2) << "at last it fitted";
  });
}

}  // namespace
}  // namespace millrace::pipeline
