#include "pipeline/tensor_files/safetensors.h"

#include "pipeline/checkpoint/checksum.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "pipeline/checkpoint/checkpoint_manifest.h"

namespace millrace::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

void ExpectComesBack(const SafeTensors& content) {
  const auto read = DecodeSafeTensors(EncodeSafeTensors(content));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->metadata, content.metadata);
  ASSERT_EQ(read->tensors.size(), content.tensors.size());
  for (const auto& [name, tensor] : content.tensors) {
    const at::Tensor found = FindTensor(read->tensors, name);
    ASSERT_TRUE(found.defined()) << name;
    EXPECT_EQ(found.scalar_type(), tensor.scalar_type()) << name;
    EXPECT_EQ(found.sizes(), tensor.sizes()) << name;
    EXPECT_TRUE(at::equal(found, tensor)) << name;
  }
}

bool IsRefused(std::string_view bytes) {
  const absl::Status status = DecodeSafeTensors(bytes).status();
  return absl::IsDataLoss(status) || absl::IsFailedPrecondition(status);
}

// A few hundred bytes in which everything occurs.
std::string SmallFile() {
  return EncodeSafeTensors({.tensors = {{"weight", at::arange(6, at::kFloat).view({2, 3})},
                                        {"count", at::full({}, 7, at::kLong)},
                                        {"none", at::ones({0, 2})},
                                        {"picture", at::full({3}, 200, at::kByte)}},
                            .metadata = {{"updates", "12"}}});
}

// What another program would write.
std::string FileOf(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header + data;
}

// One tensor in eight bytes, whose checksum is right, and that is what `entry` says. Sealed as
// files once were: without the header.
std::string FileWithEntry(const std::string& entry) {
  const std::string data(8, '\0');
  return FileOf(
      absl::StrCat(R"({"__metadata__":{"checksum":")", Checksum(data), R"("},"a":)", entry, "}"),
      data);
}

TEST(SafeTensorsTest, EveryTypeComesBackBitForBit) {
  ExpectComesBack(
      {.tensors = {{"float", at::randn({2, 3})},
                   {"double", at::randn({4}, at::kDouble)},
                   {"int64", at::full({2}, std::numeric_limits<std::int64_t>::min(), at::kLong)},
                   {"bytes", at::arange(256, at::kByte)},
                   {"number", at::full({}, 0.1F)}},
       .metadata = {}});
}

TEST(SafeTensorsTest, EmptyTensorsKeepTheirShapes) {
  ExpectComesBack({.tensors = {{"first", at::ones({0})},
                               {"values", at::ones({2})},
                               {"between", at::ones({0, 3})},
                               {"last", at::ones({4, 0}, at::kByte)}},
                   .metadata = {}});
  ExpectComesBack({.tensors = {{"alone", at::ones({0})}}, .metadata = {}});
  ExpectComesBack({});
}

TEST(SafeTensorsTest, ViewsComeBackAsWhatTheyShow) {
  const at::Tensor whole = at::randn({4, 6});
  ExpectComesBack(
      {.tensors = {{"part", whole.slice(1, 2, 4)}, {"turned", whole.t()}}, .metadata = {}});
}

TEST(SafeTensorsTest, AnyTextCanBeANameOrMetadata) {
  const std::vector<std::string> texts = {
      "",           "decode 1/8.3",         "\"quoted\"",         "back\\slash",
      "two\nlines", std::string("a\0b", 3), "gr\xc3\xbc\xc3\x9f", "{\"dtype\":\"F32\"}"};
  SafeTensors content;
  float number = 0;
  for (const std::string& text : texts) {
    content.tensors.emplace_back(text, at::full({2}, ++number));
    content.metadata[text] = text;
  }
  ExpectComesBack(content);
}

TEST(SafeTensorsTest, TensorsComeInTheOrderOfTheirBytes) {
  const auto read = DecodeSafeTensors(EncodeSafeTensors(
      {.tensors = {{"z", at::ones({1})}, {"a", at::ones({1})}, {"m", at::ones({1})}},
       .metadata = {}}));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->tensors,
              ElementsAre(Pair("z", testing::_), Pair("a", testing::_), Pair("m", testing::_)));
}

// As tools of the field want it, and as memory maps of the file need it.
TEST(SafeTensorsTest, DataIsAligned) {
  for (const std::string name : {"a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg"}) {
    const std::string bytes =
        EncodeSafeTensors({.tensors = {{name, at::ones({2})}}, .metadata = {}});
    EXPECT_EQ((bytes.size() - 2 * sizeof(float)) % 8, 0U) << name;
  }
}

// Damage to a header is as bad as damage to data: it renames a tensor, or changes a count.
TEST(SafeTensorsTest, EveryFlippedBitIsRefused) {
  const std::string whole = SmallFile();
  ASSERT_TRUE(DecodeSafeTensors(whole).ok());
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(IsRefused(flipped))
        << "bit " << bit % 8 << " of byte " << bit / 8 << ": " << flipped.substr(8);
  }
}

// The weights that come with millrace are such a file.
TEST(SafeTensorsTest, AChecksumOfTheDataAloneIsEnoughInFilesOfOld) {
  const auto read =
      DecodeSafeTensors(FileWithEntry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(at::equal(FindTensor(read->tensors, "a"), at::zeros({2})));
}

TEST(SafeTensorsTest, EveryCutIsRefused) {
  const std::string whole = SmallFile();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const absl::Status status = DecodeSafeTensors(whole.substr(0, size)).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << size << " bytes: " << status;
  }
}

TEST(SafeTensorsTest, BytesTooManyAreRefused) {
  EXPECT_TRUE(absl::IsDataLoss(DecodeSafeTensors(SmallFile() + '\0').status()));
}

TEST(SafeTensorsTest, AHeaderLongerThanTheFileIsRefused) {
  const std::string whole = SmallFile();
  for (const std::uint64_t length :
       {std::numeric_limits<std::uint64_t>::max(), std::numeric_limits<std::uint64_t>::max() - 7,
        std::uint64_t{1} << 63, std::uint64_t{1} << 40,
        static_cast<std::uint64_t>(whole.size()) - 7}) {
    std::string bytes = whole;
    std::memcpy(bytes.data(), &length, sizeof(length));
    const absl::Status status = DecodeSafeTensors(bytes).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << length << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("header is cut off")) << length;
  }
}

TEST(SafeTensorsTest, AnEntryThatCannotBeIsRefused) {
  for (const std::string entry :
       {R"(7)", R"({})", R"({"dtype":"F16","shape":[4],"data_offsets":[0,8]})",
        R"({"dtype":7,"shape":[2],"data_offsets":[0,8]})",
        R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})",
        R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})",
        R"({"dtype":"F32","shape":[2],"data_offsets":[0]})",
        R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,8]})",
        R"({"dtype":"F32","shape":[2],"data_offsets":[-8,0]})",
        R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})",
        R"({"dtype":"F32","shape":[2],"data_offsets":[8,16]})",
        R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})",
        R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})",
        R"({"dtype":"F32","shape":[1e300],"data_offsets":[0,8]})"}) {
    const absl::Status status = DecodeSafeTensors(FileWithEntry(entry)).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << entry << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("\"a\"")) << entry;
  }
}

// Sizes whose product wraps around, also to none, and such as only another side of 0 makes few.
TEST(SafeTensorsTest, AShapeThatNoMemoryHoldsIsRefused) {
  for (const std::string shape :
       {"[4611686018427387904]", "[4611686018427387904,4]", "[18446744073709551615]",
        "[9223372036854775808,0]", "[0,9223372036854775808]",
        "[0,4611686018427387904,4611686018427387904]", "[4294967296,4294967296,0]"}) {
    const std::string entry =
        absl::StrCat(R"({"dtype":"F32","shape":)", shape, R"(,"data_offsets":[0,0]})");
    const absl::Status status = DecodeSafeTensors(FileWithEntry(entry)).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << shape << ": " << status;
  }
}

TEST(SafeTensorsTest, AHeaderThatIsNoObjectIsRefused) {
  const std::string nul(1, '\0');
  for (const std::string& header : std::vector<std::string>{
           "", " ", "[]", "7", "{", "{}}", "{\"\xff\":7}", nul, "{}" + nul, "{" + nul + "}"}) {
    const absl::Status status = DecodeSafeTensors(FileOf(header, "")).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << header << ": " << status;
  }
}

// Writing such a value again, as for its checksum, would take a stack frame for each level.
TEST(SafeTensorsTest, AHeaderOfAMillionLevelsIsRefused) {
  const std::string deep =
      absl::StrCat(R"({"a":)", std::string(1'000'000, '['), std::string(1'000'000, ']'), "}");
  EXPECT_TRUE(absl::IsDataLoss(DecodeSafeTensors(FileOf(deep, "")).status()));
  EXPECT_TRUE(absl::IsDataLoss(DecodeManifest(deep).status()));
}

TEST(SafeTensorsTest, AFileOfAnotherMakerIsForeign) {
  const std::string entry = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  for (const std::string metadata : {"", R"("__metadata__":{"format":"pt"},)",
                                     R"("__metadata__":"pt",)", R"("__metadata__":null,)"}) {
    const std::string bytes = FileOf(absl::StrCat("{", metadata, entry, "}"), std::string(8, '\0'));
    const absl::Status status = DecodeSafeTensors(bytes).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << metadata << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("not made by millrace"));
  }
}

}  // namespace
}  // namespace millrace::pipeline
