#include "service/commands/plan/costs_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CostsFileTest, ReadsWhatIsThereAndTakesTheRestForNothing) {
  const auto costs = ParseCosts("c.json", R"({"layers": [
      {"name": "conv", "forward_ms": 1.5, "backward_ms": 3, "update_ms": 0.25,
       "output_bytes": 4000000, "weight_bytes": 10, "activation_bytes": 20},
      {"forward_ms": 2}], "copy_gb_per_s": 2, "memory_bytes": 1e9})");
  ASSERT_TRUE(costs.ok()) << costs.status();
  ASSERT_EQ(costs->layers.size(), 2u);
  EXPECT_EQ(costs->layers[0].name, "conv");
  EXPECT_EQ(costs->layers[0].cost.total(), 4.75);
  EXPECT_EQ(costs->layers[0].cost.copy, 2);  // 4 MB at 2 GB/s.
  EXPECT_EQ(costs->layers[0].weight_bytes, 10);
  EXPECT_EQ(costs->layers[0].activation_bytes, 20);
  EXPECT_EQ(costs->layers[1].name, "layer1");
  EXPECT_EQ(costs->layers[1].cost.total(), 2);
  EXPECT_EQ(costs->memory_bytes, 1e9);
}

TEST(CostsFileTest, CopiesAreFreeAndMemoryUnlimitedUnlessSaidOtherwise) {
  const auto costs =
      ParseCosts("c.json", R"({"layers": [{"forward_ms": 1, "output_bytes": 1000}]})");
  ASSERT_TRUE(costs.ok()) << costs.status();
  EXPECT_EQ(costs->layers[0].cost.copy, 0);
  EXPECT_FALSE(costs->memory_bytes.has_value());
  EXPECT_FALSE(costs->spread.has_value());
}

TEST(CostsFileTest, WhatIsWrittenIsRead) {
  pipeline::NetworkProfile costs{.layers = {{.name = "a", .cost = {1, 2, 0.1, 0.25, 0.5}},
                                            {.name = "b \"quoted\"", .weight_bytes = 3}},
                                 .copy_gb_per_s = 4,
                                 .memory_bytes = 5,
                                 .spread = 0.25,
                                 .skips = {{.from = 0, .to = 1, .bytes = 5e5}},
                                 .input_bytes = 7};
  costs.layers[0].output_bytes = 1e6;
  const auto read = ParseCosts("c.json", CostsText(costs));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(CostsText(*read), CostsText(costs));
  EXPECT_EQ(read->layers[0].cost.copy, 0.25);
  EXPECT_EQ(read->spread, 0.25);
  ASSERT_EQ(read->skips.size(), 1U);
  EXPECT_EQ(read->skips[0].bytes, 5e5);
  EXPECT_EQ(read->input_bytes, 7);
}

void ExpectRefused(const std::string& text, const std::string& part, const std::string& other) {
  const auto costs = ParseCosts("c.json", text);
  EXPECT_EQ(costs.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(costs.status().message(),
              AllOf(HasSubstr("c.json"), HasSubstr(part), HasSubstr(other)));
}

TEST(CostsFileTest, ErrorsNameTheLayerTheKeyAndWhatIsAllowed) {
  ExpectRefused(R"({"layers": [{"forward_ms": 1}, {"name": "up", "forward_ms": -1}]})",
                "layer 1 (up): forward_ms is -1", "0 or more");
  ExpectRefused(R"({"layers": [{"forward_ms": "1"}]})", "layer 0 (layer0): forward_ms is \"1\"",
                "finite number");
  ExpectRefused(R"({"layers": [{"forward_ms": 1, "colour": 3}]})", "no key \"colour\"",
                "allowed are: name, forward_ms");
  ExpectRefused(R"({"layers": [{"backward_ms": 1}]})", "layer 0 (layer0)", "forward_ms is missing");
  ExpectRefused(R"({"layers": [{"forward_ms": 1, "backward_ms": 2, "weight_gradient_ms": 2.5}]})",
                "layer 0 (layer0): weight_gradient_ms is 2.5", "at most backward_ms, 2");
  ExpectRefused(R"({"layers": [{"forward_ms": 1, "name": 7}]})", "layer 0: name is 7", "text");
  ExpectRefused(R"({"layers": [5]})", "layer 0", "object");
}

TEST(CostsFileTest, ErrorsOfSkipsNameTheSkipAndWhatIsAllowed) {
  const auto with = [](const std::string& skips) {
    return R"({"layers": [{"forward_ms": 1, "output_bytes": 8}, {"forward_ms": 1}], "skips": )" +
           skips + "}";
  };
  ExpectRefused(with("7"), "skips", "a list");
  ExpectRefused(with(R"([{"from": 0, "to": 2}])"), "skip 0: it leads from layer 0 to 2",
                "two layers from 0 to 1");
  ExpectRefused(with(R"([{"from": 1, "to": 1}])"), "skip 0", "the later one last");
  ExpectRefused(with(R"([{"from": 0, "to": 1, "bytes": 5}, {"from": 0, "to": 1, "bytes": 5}])"),
                "skip 1: it has 5 bytes", "output_bytes of layer 0");
  ExpectRefused(with(R"([{"to": 1, "size": 5}])"), "no key \"size\"", "from, to, bytes");
}

TEST(CostsFileTest, ErrorsOfTheFileSayWhatIsAllowed) {
  ExpectRefused(R"({"layers": []})", "layers", "at least one layer");
  ExpectRefused(R"({})", "layers", "at least one layer");
  ExpectRefused(R"([])", "object", "");
  ExpectRefused(R"({"layer": []})", "no key \"layer\"", "layers, copy_gb_per_s, memory_bytes");
  ExpectRefused(R"({"layers": [{"forward_ms": 0}]})", "more than 0", "");
  ExpectRefused(R"({"layers": [{"forward_ms": 1}], "memory_bytes": -4})", "memory_bytes is -4", "");
  ExpectRefused(R"({"layers": [{"forward_ms": 1e999}]})", "1e999", "not JSON");
  ExpectRefused("{", "not JSON", "");
}

TEST(CostsFileTest, AFileThatIsNotThereIsNamed) {
  const auto costs = ReadCosts("/no/such/costs.json");
  EXPECT_THAT(costs.status().message(), HasSubstr("/no/such/costs.json"));
}

}  // namespace
}  // namespace millrace::service
