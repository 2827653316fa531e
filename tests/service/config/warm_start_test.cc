#include "service/config/warm_start.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/base/temporary_folder.h"

namespace millrace::service {
namespace {

namespace fs = std::filesystem;

void Touch(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "weights";
}

TEST(WarmStartTest, WeightsLieBesideAnInstalledProgramWhereverThatIs) {
  const TemporaryFolder folder;
  const fs::path weights = folder / "opt/share/millrace/weights/flow-start.safetensors";
  Touch(weights);
  EXPECT_EQ(WarmStartWeightsOf(folder / "opt/bin/millrace"), weights);
  fs::rename(folder / "opt", folder / "moved");
  EXPECT_EQ(WarmStartWeightsOf(folder / "moved/bin/millrace"),
            folder / "moved/share/millrace/weights/flow-start.safetensors");
}

TEST(WarmStartTest, AProgramThatWasBuiltInACheckoutTakesThoseOfTheCheckout) {
  const TemporaryFolder folder;
  const fs::path weights = folder / "samples/weights/flow-start.safetensors";
  Touch(weights);
  EXPECT_EQ(WarmStartWeightsOf(folder / "build/release/service/millrace"), weights);
  EXPECT_EQ(WarmStartWeightsOf(folder / "build/release/tests/service/service_test"), weights);
}

TEST(WarmStartTest, WhereThereAreNoneTheStartIsCold) {
  const TemporaryFolder folder;
  EXPECT_EQ(WarmStartWeightsOf(folder / "bin/millrace"), "");
  EXPECT_EQ(WarmStartWeightsOf("/millrace"), "");
  EXPECT_EQ(WarmStartWeightsOf("millrace"), "");
}

TEST(WarmStartTest, ThisProgramFindsThoseOfItsCheckout) {
  EXPECT_EQ(WarmStartWeights(), MILLRACE_SOURCE_DIR "/samples/weights/flow-start.safetensors");
}

}  // namespace
}  // namespace millrace::service
