#include "pipeline/tensor_files/pickle_check.h"

#include <exception>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/pickle.h>

namespace millrace::pipeline {
namespace {

using std::string_literals::operator""s;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kBegin = "\x80\x02"s;

// Empty if the pickle is one that LibTorch may be given.
std::string Refusal(const std::string& instructions) {
  const absl::Status status = CheckPickle(kBegin + instructions);
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

std::string ErrorOfLibTorch(const std::string& pickle) {
  try {
    torch::jit::unpickle(pickle.data(), pickle.size());
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

// LibTorch took 64 GB for the largest number.
TEST(PickleCheckTest, ANumberInTheMemoIsNoLargerThanThePickle) {
  EXPECT_THAT(Refusal("Nr\x06\0\0\0."s), IsEmpty());
  EXPECT_THAT(Refusal("Nr\x09\0\0\0."s),
              HasSubstr("9 bytes has a value of the number 9 at byte 3"));
  EXPECT_THAT(Refusal("Nr\xff\xff\xff\xff."s), HasSubstr("was cut short or changed"));
  EXPECT_THAT(Refusal("X\5\0\0\0r\xff\xff\xff\xff."s), IsEmpty());  // A text, not an instruction.
}

// It took memory for the text, and read behind its buffer for the name.
TEST(PickleCheckTest, WhatNeedsBytesBehindTheEndIsRefused) {
  EXPECT_THAT(Refusal("h\1."s), HasSubstr("needs a value at byte 2"));
  for (const std::string& instruction :
       {"K\1"s, "Nq\1"s, "Nq\1h\1"s, "M\1\1"s, "J\1\1\1\1"s, "Nr\1\0\0\0"s, "Nq\1j\1\0\0\0"s,
        "G\1\1\1\1\1\1\1\1"s, "\x8a\x08\1\1\1\1\1\1\1\1"s, "X\3\0\0\0abc"s,
        "\x8d\3\0\0\0\0\0\0\0abc"s, "cmodule\nname\n"s}) {
    SCOPED_TRACE(testing::PrintToString(instruction));
    EXPECT_THAT(Refusal(instruction + "."), IsEmpty());
    for (std::size_t left = 1; left <= instruction.size(); ++left) {
      EXPECT_THAT(Refusal(instruction.substr(0, left)), HasSubstr("has no end")) << left;
    }
  }
  EXPECT_THAT(Refusal("X\xff\xff\xff\xff."s), HasSubstr("has no end"));
  EXPECT_THAT(Refusal("\x8d\xff\xff\xff\xff\xff\xff\xff\xff."s), HasSubstr("has no end"));
}

std::string Repeated(const std::string& part, int times) {
  std::string all;
  for (int time = 0; time < times; ++time) all += part;
  return all;
}

// LibTorch frees them by as many calls within calls.
TEST(PickleCheckTest, ValuesNestNoDeeperThanTheStackIs) {
  const struct {
    std::string before;
    std::string after;
  } wraps[] = {{"", "\x85"},
               {"N", "\x86"},
               {"NN", "\x87"},
               {"(", "t"},
               {"(", "l"},
               {"(N", "d"},
               {"]", "a"},
               {"](", "e"},
               {"}N", "s"},
               {"}(N", "u"},
               {"cm\nf\n", "R"},
               {"cm\nf\n", "b"},
               {"", "\x85r\1\0\0\0j\1\0\0\0\x86"s}};
  for (const auto& [before, after] : wraps) {
    SCOPED_TRACE(testing::PrintToString(after));
    const auto nested = [&before, &after](int times) {
      return Repeated(before, times) + ")" + Repeated(after, times) + ".";
    };
    EXPECT_THAT(Refusal(nested(400)), IsEmpty());
    EXPECT_THAT(Refusal(nested(1001)), HasSubstr("nests more than 1000 values"));
  }
}

// It could make what they stand in deeper, or stand in itself.
TEST(PickleCheckTest, NothingIsPutIntoWhatStandsElsewhere) {
  EXPECT_THAT(Refusal("]q\0\x85h\0Na\x86."s), HasSubstr("an object with items"));
  EXPECT_THAT(Refusal("]q\0(h\0e."s), HasSubstr("an object with items"));
  EXPECT_THAT(Refusal("ccollections\nOrderedDict\n)RNNs."s), HasSubstr("an object with items"));
  EXPECT_THAT(Refusal("]q\0(NNe(NNe\x85."s), IsEmpty());  // By thousands, as Python does.
}

TEST(PickleCheckTest, WhatNeedsMoreValuesThanThereAreIsRefused) {
  for (const std::string& instruction : {"\x85"s, "N\x86"s, "NN\x87"s, "t"s, "Ne"s, "]a"s, "}Ns"s,
                                         "(Na"s + "e", "NN(\x86t"s, "NR"s, "q\1"s, "Q"s, "\x81"s}) {
    SCOPED_TRACE(testing::PrintToString(instruction));
    EXPECT_THAT(Refusal(instruction + "."), testing::Not(IsEmpty()));
  }
}

// Otherwise the check would take the bytes after an instruction for its arguments, or vice versa.
TEST(PickleCheckTest, KnowsTheInstructionsThatLibTorchKnows) {
  for (int code = 0; code < 256; ++code) {
    const std::string instruction(1, static_cast<char>(code));
    if (instruction == "." || !Refusal(instruction).empty()) continue;
    EXPECT_THAT(ErrorOfLibTorch(kBegin + instruction), HasSubstr("Unknown opcode")) << code;
  }
}

}  // namespace
}  // namespace millrace::pipeline
