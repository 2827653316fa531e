#include "pipeline/nn/weights_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/regular_file.h"
#include "pipeline/models/coarse_to_fine_network.h"
#include "pipeline/nn/stage.h"
#include "pipeline/tensor_files/safetensors.h"

namespace millrace::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const CoarseToFineOptions kSmall{
    .seed = 1, .feature_channels = {4, 4, 4, 4}, .decoder_channels = {4, 4, 4}};

LayerChain SmallNetwork(std::uint64_t seed) {
  CoarseToFineOptions options = kSmall;
  options.seed = seed;
  return MakeCoarseToFineNetwork(options);
}

// A separate folder for each test.
class WeightsFileTest : public ::testing::Test {
 public:
  ~WeightsFileTest() override { std::filesystem::remove_all(folder_); }

 protected:
  WeightsFileTest()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                (std::string("weights_file_test_") +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                 std::to_string(::getpid()))) {
    std::filesystem::create_directory(folder_);
    path_ = (folder_ / "a.safetensors").string();
  }

  std::string Content() const { return *ReadFile(path_); }
  void Write(const std::string& content) const {
    ASSERT_TRUE(WriteFileAtomically(path_, content).ok());
  }
  absl::Status Load() const {
    LayerChain network = SmallNetwork(7);
    return LoadWeights(path_, network);
  }
  // What loading says of the saved file after `damage` was done to it.
  template <typename Damage>
  absl::Status LoadDamaged(const Damage& damage) const {
    EXPECT_TRUE(SaveWeights(SmallNetwork(1), path_).ok());
    std::string content = Content();
    damage(content);
    Write(content);
    return Load();
  }
  // The same after `change` was made to what the file holds.
  template <typename Change>
  absl::Status LoadChanged(const Change& change) const {
    return LoadDamaged([&](std::string& bytes) {
      SafeTensors content = *DecodeSafeTensors(bytes);
      change(content);
      bytes = EncodeSafeTensors(content);
    });
  }

  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(WeightsFileTest, BringsEveryWeightBackBitForBit) {
  const LayerChain saved = SmallNetwork(1);
  LayerChain loaded = SmallNetwork(2);
  ASSERT_TRUE(SaveWeights(saved, path_).ok());
  ASSERT_TRUE(LoadWeights(path_, loaded).ok());
  const auto expected = WholeChain(saved).parameters();
  const auto actual = WholeChain(loaded).parameters();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(at::equal(actual[i], expected[i]));
    EXPECT_TRUE(actual[i].requires_grad());
  }
}

TEST_F(WeightsFileTest, WholeNetworkIsASmallFile) {
  ASSERT_TRUE(SaveWeights(MakeCoarseToFineNetwork(), path_).ok());
  EXPECT_LT(std::filesystem::file_size(path_), 1'500'000);
}

TEST_F(WeightsFileTest, LeavesNothingElseBehind) {
  ASSERT_TRUE(SaveWeights(SmallNetwork(1), path_).ok());
  ASSERT_TRUE(SaveWeights(SmallNetwork(2), path_).ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(WeightsFileTest, DoesNotWriteAWeightThatIsNotFinite) {
  const LayerChain network = SmallNetwork(1);
  WholeChain(network).parameters()[3].variable_data().fill_(
      std::numeric_limits<float>::quiet_NaN());
  const absl::Status status = SaveWeights(network, path_);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"features 1/2.3\" is not finite"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(WeightsFileTest, FolderThatDoesNotExistIsNamed) {
  const absl::Status status = SaveWeights(SmallNetwork(1), (folder_ / "no" / "a").string());
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr((folder_ / "no" / "a").string()));
}

TEST_F(WeightsFileTest, MissingFileSaysHowToMakeOne) {
  const absl::Status status = Load();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(path_), HasSubstr("millrace pretrain --output")));
}

TEST_F(WeightsFileTest, FolderIsNotAFile) {
  std::filesystem::create_directory(path_);
  EXPECT_THAT(std::string(Load().message()), HasSubstr("is a folder"));
}

TEST_F(WeightsFileTest, EveryCutIsNoticed) {
  ASSERT_TRUE(SaveWeights(SmallNetwork(1), path_).ok());
  const std::string whole = Content();
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{7}, std::size_t{100}, whole.size() / 2, whole.size() - 1}) {
    Write(whole.substr(0, size));
    const absl::Status status = Load();
    EXPECT_TRUE(absl::IsDataLoss(status)) << size << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("damaged"));
  }
}

TEST_F(WeightsFileTest, OneFlippedBitOfTheDataIsNoticed) {
  const absl::Status status =
      LoadDamaged([](std::string& content) { content[content.size() - 9] ^= 1; });
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("its checksum is wrong"));
}

TEST_F(WeightsFileTest, HeaderThatIsNoJsonIsDamaged) {
  const absl::Status status = LoadDamaged([](std::string& content) { content[8] = '?'; });
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("its header cannot be read"));
}

TEST_F(WeightsFileTest, FileOfAnotherProgramIsForeign) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})";
  Write(std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header);
  const absl::Status status = Load();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("not made by millrace"));
}

TEST_F(WeightsFileTest, AnotherVersionIsForeign) {
  const absl::Status status =
      LoadChanged([](SafeTensors& content) { content.metadata.at("version") = "9"; });
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("another version"));
}

TEST_F(WeightsFileTest, MissingTensorIsNamed) {
  const absl::Status status = LoadChanged([](SafeTensors& content) {
    for (auto& [name, tensor] : content.tensors) {
      if (name == "decode 1/8.3") name = "decode 1/8.x";
    }
  });
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("it has no \"decode 1/8.3\""));
}

TEST_F(WeightsFileTest, AnotherNetworkIsRefusedWithBothShapes) {
  CoarseToFineOptions wider = kSmall;
  wider.decoder_channels = {5, 4, 4};
  ASSERT_TRUE(SaveWeights(MakeCoarseToFineNetwork(wider), path_).ok());
  LayerChain network = SmallNetwork(7);
  const at::Tensor before = WholeChain(network).parameters().front().detach().clone();
  const absl::Status status = LoadWeights(path_, network);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("has the shape [5,53,3,3] where [4,53,3,3]"));
  EXPECT_TRUE(at::equal(WholeChain(network).parameters().front(), before));
}

// It takes no memory: eight gigabytes of holes.
TEST_F(WeightsFileTest, AFileThatIsLargerThanTheNetworkIsNotRead) {
  ASSERT_TRUE(SaveWeights(SmallNetwork(1), path_).ok());
  std::filesystem::resize_file(path_, std::uintmax_t{8} << 30);
  const absl::Status status = Load();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("it has 8589934592 bytes where at most"));
}

TEST_F(WeightsFileTest, TensorTooManyIsRefused) {
  const LayerChain longer = SmallNetwork(1);
  LayerChain shorter = SmallNetwork(1);
  shorter.layers.pop_back();
  ASSERT_TRUE(SaveWeights(longer, path_).ok());
  const absl::Status status = LoadWeights(path_, shorter);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("tensors where"));
}

}  // namespace
}  // namespace millrace::pipeline
