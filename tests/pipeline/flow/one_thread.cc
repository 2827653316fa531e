// Keeps these tests to one thread each: their tensors are small, and ctest runs many at once.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace {

class OneThread : public ::testing::Environment {
 public:
  void SetUp() override { at::set_num_threads(1); }
};

[[maybe_unused]] const auto* const kOneThread = ::testing::AddGlobalTestEnvironment(new OneThread);

}  // namespace
