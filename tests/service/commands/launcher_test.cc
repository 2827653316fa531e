#include "service/commands/launcher.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"

namespace millrace::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

absl::StatusOr<std::optional<LaunchedRank>> Read(const Variables& variables) {
  return ReadLauncher([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

// "torchrun: 1 of 3, led by node0".
std::string Said(const Variables& variables) {
  const auto read = Read(variables);
  if (!read.ok()) return std::string(read.status().message());
  if (!read->has_value()) return "none";
  const LaunchedRank& rank = **read;
  return rank.launcher + ": " + std::to_string(rank.rank) + " of " +
         (rank.size ? std::to_string(*rank.size) : "?") + ", led by " +
         (rank.leader.empty() ? "?" : rank.leader);
}

// As the launchers set them; the first two and Slurm's were read from real runs.
TEST(LauncherTest, EachLauncherHasItsVariables) {
  EXPECT_EQ(Said({}), "none");
  EXPECT_EQ(Said({{"RANK", "1"},
                  {"LOCAL_RANK", "0"},
                  {"WORLD_SIZE", "3"},
                  {"MASTER_ADDR", "node0"},
                  {"MASTER_PORT", "29400"},
                  {"TORCHELASTIC_USE_AGENT_STORE", "True"}}),
            "torchrun: 1 of 3, led by node0");
  EXPECT_EQ(Said({{"OMPI_COMM_WORLD_RANK", "0"},
                  {"OMPI_COMM_WORLD_SIZE", "2"},
                  {"MASTER_ADDR", "10.0.0.1"}}),
            "Open MPI: 0 of 2, led by 10.0.0.1");
  EXPECT_EQ(Said({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}),
            "Open MPI: 0 of 2, led by ?");
  EXPECT_EQ(Said({{"SLURM_PROCID", "2"},
                  {"SLURM_STEP_NUM_TASKS", "4"},
                  {"SLURM_STEP_NODELIST", "gpu[03-06]"}}),
            "Slurm: 2 of 4, led by gpu03");
  EXPECT_EQ(Said({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}}), "MPI: 3 of 4, led by ?");
  EXPECT_EQ(Said({{"LWS_WORKER_INDEX", "1"},
                  {"LWS_GROUP_SIZE", "2"},
                  {"LWS_LEADER_ADDRESS", "m-0.m.default"}}),
            "LeaderWorkerSet: 1 of 2, led by m-0.m.default");
  EXPECT_EQ(Said({{"JOB_COMPLETION_INDEX", "1"}, {"MASTER_ADDR", "m-0.m"}}),
            "the indexed Job: 1 of ?, led by m-0.m");
  EXPECT_EQ(Said({{"MILLRACE_RANK", "1"},
                  {"MILLRACE_LEADER", "m-0.m"},
                  {"RANK", "0"},
                  {"WORLD_SIZE", "2"}}),
            "MILLRACE_RANK: 1 of ?, led by m-0.m");
}

// mpirun inside of a Slurm job, and torchrun under srun.
TEST(LauncherTest, TheInnermostLauncherDecides) {
  const Variables slurm = {
      {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_STEP_NODELIST", "a,b"}};
  Variables mpirun = {{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}};
  mpirun.insert(slurm.begin(), slurm.end());
  EXPECT_EQ(Said(mpirun), "Open MPI: 2 of 4, led by a");
  Variables torchrun = {{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "b"}};
  torchrun.insert(slurm.begin(), slurm.end());
  EXPECT_EQ(Said(torchrun), "torchrun: 3 of 4, led by b");
}

// A shell in an allocation, and variables of other programs.
TEST(LauncherTest, ARankAloneIsNoLauncher) {
  EXPECT_EQ(Said({{"SLURM_PROCID", "0"}, {"SLURM_JOB_NODELIST", "a"}}), "none");
  EXPECT_EQ(Said({{"RANK", "7"}}), "none");
  EXPECT_EQ(Said({{"MASTER_ADDR", "a"}}), "none");
}

TEST(LauncherTest, ABadVariableIsNamed) {
  EXPECT_THAT(Said({{"RANK", "one"}, {"WORLD_SIZE", "2"}}),
              AllOf(HasSubstr("RANK is \"one\""), HasSubstr("a number from 0 on")));
  EXPECT_THAT(Said({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}), HasSubstr("RANK is \"-1\""));
  EXPECT_THAT(Said({{"RANK", "0"}, {"WORLD_SIZE", "0"}}), HasSubstr("WORLD_SIZE is \"0\""));
  EXPECT_THAT(Said({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}}),
              HasSubstr("PMI_RANK is 2, and PMI_SIZE is 2; ranks count from 0"));
  EXPECT_THAT(Said({{"MILLRACE_RANK", ""}}), HasSubstr("MILLRACE_RANK is \"\""));
}

TEST(LauncherTest, TheFirstHostOfASlurmList) {
  EXPECT_EQ(FirstHost("gpu1"), "gpu1");
  EXPECT_EQ(FirstHost("gpu1,gpu2"), "gpu1");
  EXPECT_EQ(FirstHost("gpu[03-05,9],login"), "gpu03");
  EXPECT_EQ(FirstHost("gpu[7,9]"), "gpu7");
  EXPECT_EQ(FirstHost("r[1-2]n[05-08].cluster"), "r1n05.cluster");
  EXPECT_EQ(FirstHost("rack-a[1-3]-gpu,b"), "rack-a1-gpu");
  EXPECT_EQ(FirstHost(""), "");
  EXPECT_EQ(FirstHost("gpu["), "gpu");
}

}  // namespace
}  // namespace millrace::service
