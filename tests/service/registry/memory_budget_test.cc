#include "service/registry/memory_budget.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error_reason.h"

namespace millrace::service {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr double kGb = 1e9;

class UsableMemoryTest : public ::testing::Test {
 public:
  ~UsableMemoryTest() override { fs::remove_all(folder_); }

 protected:
  UsableMemoryTest()
      : folder_(fs::path(::testing::TempDir()) /
                ("usable_memory_test_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_ / "groups/system/millrace");
  }
  void Write(const std::string& file, const std::string& text) {
    std::ofstream(folder_ / file) << text;
  }
  double Usable() {
    return UsableMemoryBytes({.groups_of_this_process = (folder_ / "cgroup").string(),
                              .groups = (folder_ / "groups").string(),
                              .machine_bytes = 64 * kGb});
  }

  const fs::path folder_;
};

TEST_F(UsableMemoryTest, IsTheMachinesLessATenth) {
  EXPECT_DOUBLE_EQ(Usable(), 57.6 * kGb) << "no groups at all";
  Write("cgroup", "0::/\n");
  Write("groups/memory.max", "max\n");
  EXPECT_DOUBLE_EQ(Usable(), 57.6 * kGb);
}

TEST_F(UsableMemoryTest, IsWhatAContainerHas) {
  Write("cgroup", "0::/\n");
  Write("groups/memory.max", "10000000000\n");
  EXPECT_DOUBLE_EQ(Usable(), 9 * kGb);
  Write("groups/memory.max", "2000000000\n");
  EXPECT_DOUBLE_EQ(Usable(), 1.5 * kGb) << "less half a gigabyte";
  Write("groups/memory.max", "100000000\n");
  EXPECT_EQ(Usable(), 0);
}

TEST_F(UsableMemoryTest, IsTheLeastOfAllGroupsThatTheProcessIsIn) {
  Write("cgroup", "1:cpu:/other\n0::/system/millrace\n");
  Write("groups/system/millrace/memory.max", "30000000000\n");
  EXPECT_DOUBLE_EQ(Usable(), 27 * kGb);
  Write("groups/system/memory.max", "20000000000\n");
  EXPECT_DOUBLE_EQ(Usable(), 18 * kGb);
}

TEST(MemoryBudgetTest, HoldsWhatFitsUntilItIsLetGo) {
  MemoryBudget budget;
  absl::StatusOr<HeldMemory> street = budget.Take({"street", 4.2 * kGb}, 8 * kGb);
  ASSERT_TRUE(street.ok());
  const absl::Status refused = budget.Take({"gate", 4 * kGb}, 8 * kGb).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(refused), "DEVICE_BUDGET_EXCEEDED");
  EXPECT_EQ(refused.message(),
            "stream 'gate': about 4.0 GB of memory are needed, and of 8.0 GB there are 3.8 GB "
            "left: 'street' takes 4.2 GB; lower the size of model.input or the number "
            "schedule.stages. Or take a smaller network, delete another stream, or raise "
            "budget.memory_gb");
  street->reset();
  EXPECT_TRUE(budget.Take({"gate", 4 * kGb}, 8 * kGb).ok());
}

TEST(MemoryBudgetTest, OneAloneMustFitToo) {
  MemoryBudget budget;
  EXPECT_THAT(std::string(budget.Take({"street", 9 * kGb}, 8 * kGb).status().message()),
              HasSubstr("of 8.0 GB there are 8.0 GB left; lower"));
}

TEST(MemoryBudgetTest, LessThanAGigabyteIsSaidInMegabytes) {
  constexpr double kMb = 1e6;
  MemoryBudget budget;
  const absl::StatusOr<HeldMemory> street = budget.Take({"street", 17.6 * kMb}, 52 * kMb);
  EXPECT_THAT(std::string(budget.Take({"gate", 999.6 * kMb}, 52 * kMb).status().message()),
              HasSubstr("about 1.0 GB of memory are needed, and of 52 MB there are 34 MB left: "
                        "'street' takes 18 MB;"));
}

TEST(MemoryBudgetTest, WhatIsTakenAnywayIsHeldAsWell) {
  MemoryBudget budget;
  const HeldMemory street = budget.TakeAnyway({"street", 9 * kGb});
  EXPECT_THAT(std::string(budget.Take({"gate", 1}, 8 * kGb).status().message()),
              HasSubstr("there are 0 MB left: 'street' takes 9.0 GB"));
}

}  // namespace
}  // namespace millrace::service
