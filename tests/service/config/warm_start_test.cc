#include "service/config/warm_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/base/temporary_folder.h"

namespace millrace::service {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::Not;
using std::string_literals::operator""s;

void Touch(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "weights";
}

TEST(WarmStartTest, WeightsLieBesideAnInstalledProgramWhereverThatIs) {
  const TemporaryFolder folder;
  const fs::path weights = folder / "opt/share/millrace/weights/refine-start.safetensors";
  Touch(weights);
  EXPECT_EQ(WarmStartWeightsOf(folder / "opt/bin/millrace", "refine"), weights);
  fs::rename(folder / "opt", folder / "moved");
  EXPECT_EQ(WarmStartWeightsOf(folder / "moved/bin/millrace", "refine"),
            folder / "moved/share/millrace/weights/refine-start.safetensors");
}

TEST(WarmStartTest, AProgramThatWasBuiltInACheckoutTakesThoseOfTheCheckout) {
  const TemporaryFolder folder;
  const fs::path weights = folder / "samples/weights/refine-start.safetensors";
  Touch(weights);
  EXPECT_EQ(WarmStartWeightsOf(folder / "build/release/service/millrace", "refine"), weights);
  EXPECT_EQ(WarmStartWeightsOf(folder / "build/release/tests/service/service_test", "refine"),
            weights);
}

TEST(WarmStartTest, WhereThereAreNoneTheStartIsCold) {
  const TemporaryFolder folder;
  for (const std::string& program : {folder / "bin/millrace", "/millrace"s, "millrace"s, ""s}) {
    EXPECT_EQ(WarmStartWeightsOf(program, "refine"), "") << program;
  }
}

TEST(WarmStartTest, ThisProgramFindsThoseOfItsCheckout) {
  for (const std::string network : {"refine", "flow"}) {
    EXPECT_EQ(WarmStartWeights(network),
              MILLRACE_SOURCE_DIR "/samples/weights/" + network + "-start.safetensors");
  }
}

TEST(WarmStartTest, OtherNetworksStartCold) {
  for (const char* network : {"levels", "flownets", "mine.pt", "../weights/flow", ""}) {
    EXPECT_EQ(WarmStartWeights(network), "") << network;
  }
}

TEST(WarmStartTest, OnlyANetworkWithoutAClassicalMethodSeesNothingAtFirst) {
  EXPECT_THAT(CostOfColdStart("flow"), HasSubstr("no motion"));
  EXPECT_THAT(CostOfColdStart("refine"), Not(HasSubstr("no motion")));
}

}  // namespace
}  // namespace millrace::service
