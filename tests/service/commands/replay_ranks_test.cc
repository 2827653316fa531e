// `millrace replay --ranks`: real processes over the real store and Gloo give the bits of one
// process.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "pipeline/offline/replay.h"
#include "tests/pipeline/support/replay_model.h"

namespace millrace::service {
namespace {

using pipeline::NamedTensors;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Case {
  std::string schedule;
  std::string ranks;
};

// Normalization keeps buffers, and dropout draws random numbers: these, too, must be the same.
void SaveNetwork(const std::string& path) {
  at::manual_seed(21);
  pipeline::SaveNetwork(
      {pipeline::Child("A", 4, 4), pipeline::Normalizing(), pipeline::Dropping(),
       pipeline::Child("B", 4, 4), pipeline::Child("C", 4, 4), pipeline::Child("D", 4, 4)},
      path);
}

struct Ended {
  int code = -1;
  std::string output;
};

class ReplayRanks : public ::testing::Test {
 protected:
  void SetUp() override {
    at::set_num_threads(1);
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("replay_ranks_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    SaveNetwork(Path("m.pt"));
    ASSERT_TRUE(pipeline::WriteTensors(Path("s.pt"), pipeline::SquareSamples(40)).ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string Path(const std::string& name) const { return folder_ / name; }

  // Waits for its end.
  [[nodiscard]] Ended Run(const std::string& arguments) const {
    const std::string command =
        std::string(MILLRACE_PROGRAM) + " " + arguments + " > " + Path("log") + " 2>&1";
    const int status = std::system(command.c_str());  // NOLINT(cert-env33-c)
    std::stringstream output;
    output << std::ifstream(Path("log")).rdbuf();
    return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1, .output = output.str()};
  }

  [[nodiscard]] std::string Arguments(const std::string& schedule) const {
    return "replay --model " + Path("m.pt") + " --samples " + Path("s.pt") + " --out " +
           Path("ranks.pt") + " --schedule " + schedule +
           " --stages 2,1,1,2 --optimizer adam --learning-rate 0.01 --switch-at 17 --seed 5";
  }

  [[nodiscard]] NamedTensors OfOneProcess(const std::string& schedule) const {
    pipeline::ReplayOptions options{.model = Path("m.pt"),
                                    .samples = Path("s.pt"),
                                    .output = Path("one.pt"),
                                    .schedule = schedule,
                                    .stages = {2, 1, 1, 2},
                                    .optimizer = {.kind = pipeline::OptimizerOptions::Kind::kAdam,
                                                  .learning_rate = 0.01,
                                                  .clip_update = 0},
                                    .seed = 5};
    options.request.switch_at = 17;
    const auto summary = Replay(options);
    EXPECT_TRUE(summary.ok()) << summary.status();
    return *pipeline::ReadTensors(Path("one.pt"));
  }

  std::filesystem::path folder_;
};

class EveryReplayRanks : public ReplayRanks, public ::testing::WithParamInterface<Case> {};

TEST_P(EveryReplayRanks, HasTheBitsOfOneProcess) {
  const NamedTensors one = OfOneProcess(GetParam().schedule);
  const Ended ended = Run(Arguments(GetParam().schedule) + " --ranks " + GetParam().ranks);
  ASSERT_EQ(ended.code, 0) << ended.output;
  const NamedTensors ranks = *pipeline::ReadTensors(Path("ranks.pt"));
  ASSERT_EQ(ranks.size(), one.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(ranks[i].first, one[i].first);
    EXPECT_TRUE(at::equal(ranks[i].second, one[i].second)) << one[i].first;
  }
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const std::string& schedule : pipeline::ScheduleNames()) {
    for (const char* ranks : {"1,1,0,0", "3,2,1,0", "1,1,1,0"}) cases.push_back({schedule, ranks});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, EveryReplayRanks, ::testing::ValuesIn(AllCases()),
                         [](const auto& test) {
                           std::string name = test.param.schedule + "_" + test.param.ranks;
                           std::erase(name, ',');
                           return name;
                         });

TEST_F(ReplayRanks, WrongRanksAreRefusedInWords) {
  const auto refusal = [&](const std::string& more) {
    const Ended ended = Run(Arguments("partime") + " " + more);
    EXPECT_EQ(ended.code, 2) << ended.output;
    return ended.output;
  };
  EXPECT_THAT(refusal("--ranks 1,0"), HasSubstr("are 1 0; name one for each of 4 stages"));
  EXPECT_THAT(refusal("--ranks 0,0,1,1"), HasSubstr("the last stage is on rank 0"));
  EXPECT_THAT(refusal("--ranks 2,2,0,0"), HasSubstr("they fall from stage to stage, by one"));
  EXPECT_THAT(refusal("--listen 127.0.0.1"), HasSubstr("--listen and --secret-file belong"));
  EXPECT_THAT(refusal("--ranks 1,1,0,0 --listen 127.0.0.1: --secret-file " + Path("m.pt")),
              HasSubstr("'127.0.0.1:' is no address; write HOST:PORT"));
}

TEST_F(ReplayRanks, OneRankNeedsNoOtherProcess) {
  const Ended ended = Run(Arguments("partime") + " --ranks 0,0,0,0");
  EXPECT_EQ(ended.code, 0) << ended.output;
}

TEST_F(ReplayRanks, AJoiningProcessSaysWhatIsWrong) {
  std::ofstream(Path("secret")) << "0123456789abcdef0123456789abcdef\n";
  std::filesystem::permissions(Path("secret"), std::filesystem::perms::owner_read);
  const auto refusal = [&](const std::string& arguments) {
    return Run("join " + arguments).output;
  };
  const std::string secret = " --once --secret-file " + Path("secret");
  EXPECT_THAT(refusal("127.0.0.1:1" + secret),
              HasSubstr("no leader answers at 127.0.0.1:1: Connection refused"));
  EXPECT_THAT(refusal("10.0.0.1:99999" + secret), HasSubstr("'10.0.0.1:99999' is no address"));
  EXPECT_THAT(refusal("no.such.host.invalid:1" + secret), HasSubstr("there is no host no.such"));
  EXPECT_THAT(refusal("127.0.0.1:1 --secret-file /no/such/file"),
              HasSubstr("--secret-file: the file that it names cannot be read"));
  EXPECT_THAT(refusal(secret), HasSubstr("leader is required"));
}

}  // namespace
}  // namespace millrace::service
