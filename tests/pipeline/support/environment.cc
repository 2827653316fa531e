// Keeps these tests to one thread each, as their tensors are small and ctest runs many at once, and
// seeds LibTorch's generator, which otherwise seeds itself by chance: a test that fails fails
// again.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace {

class OneThreadAndSeed : public ::testing::Environment {
 public:
  void SetUp() override {
    at::set_num_threads(1);
    at::manual_seed(1);
  }
};

[[maybe_unused]] const auto* const kOneThreadAndSeed =
    ::testing::AddGlobalTestEnvironment(new OneThreadAndSeed);

}  // namespace
