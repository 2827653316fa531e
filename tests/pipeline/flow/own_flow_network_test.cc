// A user's own network, from a file of torch.jit, learns by every objective that there is.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "base/regular_file.h"
#include "pipeline/flow/flow_learner.h"
#include "pipeline/learner/flow_loss_options.h"
#include "pipeline/learner/learner.h"
#include "pipeline/models/open_flow_network.h"
#include "pipeline/offline/export_weights.h"
#include "pipeline/ops/finite.h"
#include "pipeline/tensor_files/safetensors.h"
#include "tests/pipeline/support/flow_modules.h"
#include "tests/pipeline/support/moving_waves.h"
#include "tests/pipeline/support/replay_model.h"

namespace millrace::pipeline {
namespace {

namespace fs = std::filesystem;

struct Objective {
  std::string loss;
  bool occlusion = false;
  bool next_frame = false;
};

std::vector<Objective> Objectives() {
  std::vector<Objective> objectives;
  for (const std::string& name : FlowLossNames()) {
    objectives.push_back({.loss = name});
    objectives.push_back({.loss = name, .next_frame = true});
    if (KnowsHiddenPixels(*FlowLossKind(name))) {
      objectives.push_back({.loss = name, .occlusion = true});
    }
  }
  return objectives;
}

std::string NameOf(const Objective& objective) {
  return objective.loss + (objective.occlusion ? "_occlusion" : "") +
         (objective.next_frame ? "_next_frame" : "");
}

void PrintTo(const Objective& objective, std::ostream* out) { *out << NameOf(objective); }

class OwnFlowNetworkTest : public ::testing::TestWithParam<Objective> {
 protected:
  OwnFlowNetworkTest()
      : folder_(fs::path(::testing::TempDir()) /
                ("own_flow_network_test_" + NameOf(GetParam()) + std::to_string(::getpid()))),
        network_(folder_ / "own.pt") {
    fs::create_directories(folder_);
    at::manual_seed(5);
    SaveNetwork({Convolution("A", 6, 4), Convolution("B", 4, 2)}, network_);
  }
  ~OwnFlowNetworkTest() override { fs::remove_all(folder_); }

  [[nodiscard]] LearnerOptions Options() const {
    return {.width = kWavesSide,
            .height = kWavesSide,
            .stages = 2,
            .checkpoints = {.folder = folder_ / "kept"}};
  }

  [[nodiscard]] FlowTaskOptions Task() const {
    const Objective& by = GetParam();
    return {.network = network_,
            .loss = {.kind = *FlowLossKind(by.loss), .occlusion = by.occlusion},
            .next_frame = by.next_frame};
  }

  // Ends with the learner gone, which its folder is then free of.
  void Learn(std::int64_t samples) const {
    auto learner = MakeFlowLearner(Options(), Task(), [](const ModelPrediction& prediction) {
      EXPECT_TRUE(prediction.finite);
      EXPECT_EQ(prediction.skipped, SkipReason::kNone);
    });
    ASSERT_TRUE(learner.ok()) << learner.status();
    for (std::int64_t i = 0; i < samples; ++i) {
      const auto before = Waves(static_cast<double>(i));
      const auto previous = Waves(static_cast<double>(i) + 1);
      const auto current = Waves(static_cast<double>(i) + 2);
      Sample pictures{.previous = previous, .current = current};
      if (GetParam().next_frame) pictures.before = before;
      ASSERT_TRUE((*learner)->Admit(pictures).ok());
    }
    ASSERT_TRUE((*learner)->Drain().ok());
    EXPECT_EQ((*learner)->updates(), std::vector<std::int64_t>({samples, samples}));
  }

  // What the learner kept at its end, in the order of the file's tensors.
  [[nodiscard]] NamedTensors Learned() const {
    const std::string output = folder_ / "learned.safetensors";
    const auto exported =
        ExportWeights({.network = network_, .checkpoints = folder_ / "kept", .output = output});
    EXPECT_TRUE(exported.ok()) << exported.status();
    const auto bytes = ReadFile(output);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    return bytes.ok() ? DecodeSafeTensors(*bytes)->tensors : NamedTensors();
  }

  const fs::path folder_;
  const std::string network_;
};

INSTANTIATE_TEST_SUITE_P(Objectives, OwnFlowNetworkTest, ::testing::ValuesIn(Objectives()),
                         [](const auto& objective) { return NameOf(objective.param); });

TEST_P(OwnFlowNetworkTest, LearnsByItWithFiniteWeights) {
  Learn(/*samples=*/3);
  const auto started = OpenFlowNetwork({.name = network_}, kWavesSide, kWavesSide);
  ASSERT_TRUE(started.ok()) << started.status();
  const NamedTensors learned = Learned();
  ASSERT_EQ(learned.size(), started->state.size());
  for (std::size_t i = 0; i < learned.size(); ++i) {
    const auto& [name, before] = started->state[i];
    const at::Tensor& after = learned[i].second;
    EXPECT_EQ(after.sizes(), before.sizes()) << name;
    EXPECT_TRUE(AllFinite(after)) << name;
    EXPECT_FALSE(at::equal(after, before)) << name;
  }
}

}  // namespace
}  // namespace millrace::pipeline
