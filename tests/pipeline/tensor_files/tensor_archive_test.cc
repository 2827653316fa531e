// Files of tensors that were cut or changed. LibTorch reads and writes behind the bytes of such
// tensors, and corrupted the heap. Without a sanitizer a wrong access may pass by chance.
#include "pipeline/tensor_files/tensor_archive.h"

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <caffe2/serialize/inline_container.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include "base/regular_file.h"
#include "pipeline/nn/torchscript_chain.h"
#include "pipeline/tensor_files/tensor_file.h"
#include "tests/base/temporary_folder.h"
#include "tests/pipeline/support/replay_model.h"

namespace millrace::pipeline {
namespace {

using ::testing::HasSubstr;

// The records of a zip, by name.
using Records = std::map<std::string, std::string>;

// All but what a writer adds by itself.
Records Read(const std::string& path) {
  caffe2::serialize::PyTorchStreamReader reader(path);
  Records records;
  for (const std::string& name : reader.getAllRecords()) {
    if (name == "version" || name == ".data/serialization_id") continue;
    const auto [bytes, size] = reader.getRecord(name);
    records[name] = std::string(static_cast<const char*>(bytes.get()), size);
  }
  return records;
}

void Write(const Records& records, const std::string& path) {
  caffe2::serialize::PyTorchStreamWriter writer(path);
  for (const auto& [name, bytes] : records) writer.writeRecord(name, bytes.data(), bytes.size());
  writer.writeEndOfFile();
}

// As TorchScript writes the tensors that stand in a network's code.
void AddConstant(const at::Tensor& constant, Records& records) {
  std::string& pickled = records["constants.pkl"];
  pickled.clear();
  torch::jit::Pickler pickler(
      [&](const char* data, std::size_t size) { pickled.append(data, size); }, nullptr, nullptr,
      nullptr, [](const at::Tensor& /*tensor*/) { return "0"; });
  pickler.protocol();
  pickler.pushIValue(c10::ivalue::Tuple::create({constant}));
  pickler.stop();
  records["constants/0"] = std::string(static_cast<const char*>(constant.const_data_ptr()),
                                       static_cast<std::size_t>(constant.nbytes()));
}

// Two layers with parameters, buffers, and tensors in a list and a dict.
void SaveNetworkWithAllKinds(const std::string& path) {
  torch::jit::Module layer = Child("A", 3, 5);
  c10::List<at::Tensor> list;
  list.push_back(at::arange(7, at::kFloat));
  layer.register_attribute("list", c10::ListType::ofTensors(), list);
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("eleven", at::arange(11, at::kFloat));
  layer.register_attribute(
      "dict", c10::DictType::create(c10::StringType::get(), c10::TensorType::get()), dict);
  SaveNetwork({layer, Normalizing()}, path);
  Records records = Read(path);
  AddConstant(at::ones({13}), records);
  Write(records, path);
}

bool IsTensor(const std::string& record) {
  return record.starts_with("data/") || record.starts_with("constants/");
}

class TensorArchiveTest : public ::testing::Test {
 protected:
  TensorArchiveTest() {
    SaveNetworkWithAllKinds(network_);
    EXPECT_TRUE(WriteTensors(samples_, SquareSamples(9)).ok());
  }

  // What each loader says of its file with these records.
  [[nodiscard]] absl::Status Load(const std::string& path, const Records& records) const {
    const std::string changed = folder_ / "changed.pt";
    Write(records, changed);
    return path == network_ ? LoadTorchScriptChain(changed).status()
                            : ReadTensors(changed).status();
  }

  void ExpectRefused(const std::string& path, const Records& records) const {
    const absl::Status status = Load(path, records);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("changed.pt"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("was cut short or changed"));
  }

  const TemporaryFolder folder_;
  const std::string network_ = folder_ / "network.pt";
  const std::string samples_ = folder_ / "samples.pt";
};

TEST_F(TensorArchiveTest, WhatIsWholeIsRead) {
  for (const std::string& path : {network_, samples_}) {
    const absl::Status status = Load(path, Read(path));
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST_F(TensorArchiveTest, ATensorThatWasCutIsRefusedWhicheverItIs) {
  for (const std::string& path : {network_, samples_}) {
    const Records whole = Read(path);
    int tensors = 0;
    for (const auto& [name, bytes] : whole) {
      if (!IsTensor(name)) continue;
      ++tensors;
      for (const std::size_t left : {bytes.size() - 1, bytes.size() / 2, std::size_t{0}}) {
        SCOPED_TRACE(absl::StrCat(path, " ", name, " of ", bytes.size(), " cut to ", left));
        Records cut = whole;
        cut[name].resize(left);
        ExpectRefused(path, cut);
      }
    }
    EXPECT_EQ(tensors, path == network_ ? 8 : 2);
  }
}

TEST_F(TensorArchiveTest, ATensorThatIsMissingIsRefused) {
  Records records = Read(network_);
  records.erase("constants/0");
  EXPECT_TRUE(absl::IsInvalidArgument(Load(network_, records)));
}

// The weight of the first layer: a matrix of 5 x 3 in a storage of 15 numbers.
TEST_F(TensorArchiveTest, AShapeThatDoesNotFitItsBytesIsRefused) {
  using std::string_literals::operator""s;
  const Records whole = Read(network_);
  const struct {
    std::string was;
    std::string is;
  } changes[] = {
      {"(K\x05K\x03t"s, "(K\x05K\x7ft"s},                       // Its sides,
      {"(K\x05K\x03t"s, "(J\xff\xff\xff\xffK\x03t"s},           // one of them negative,
      {"(K\x05K\x03t"s, "(\x8a\x08\0\0\0\0\0\0\0\x40K\x03t"s},  // or beyond all numbers,
      {"(K\x03K\x01t"s, "(K\x7fK\x01t"s},                       // its strides,
      {"tQq\x08K\0("s, "tQq\x08K\x01("s},                       // where it begins,
      {"tQq\x08K\0("s, "tQq\x08J\xff\xff\xff\xff("s},           // before its storage,
      {"K\x0ftQ"s, "K\x7ftQ"s},                                 // the storage's length,
      {"K\x0ftQ"s, "J\xff\xff\xff\xfftQ"s},                     // negative,
      {"K\x0ftQ"s, "\x8a\x08\0\0\0\0\0\0\0\x40tQ"s},            // or beyond all bytes.
  };
  for (const auto& [was, is] : changes) {
    SCOPED_TRACE(testing::PrintToString(is));
    Records changed = whole;
    std::string& pickle = changed["data.pkl"];
    const std::size_t at = pickle.find(was);
    ASSERT_NE(at, std::string::npos);
    pickle.replace(at, was.size(), is);
    const absl::Status status = Load(network_, changed);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
}

// LibTorch would take 16 bytes for each value before it.
TEST_F(TensorArchiveTest, AMemoNumberBeyondThePickleIsRefusedWhicheverPickleItIs) {
  using std::string_literals::operator""s;
  for (const std::string& path : {network_, samples_}) {
    const Records whole = Read(path);
    for (const std::string pickle : {"data.pkl", "constants.pkl"}) {
      if (!whole.contains(pickle)) continue;
      SCOPED_TRACE(absl::StrCat(path, " ", pickle));
      Records changed = whole;
      changed[pickle].insert(changed[pickle].size() - 1, "r\0\0\0\1"s);
      ExpectRefused(path, changed);
    }
  }
}

// LibTorch would free them by a million calls within calls, for which no stack suffices.
TEST_F(TensorArchiveTest, ValuesThatNestAMillionTimesAreRefused) {
  for (const std::string& path : {network_, samples_}) {
    Records changed = Read(path);
    changed["data.pkl"] = "\x80\x02)" + std::string(1'000'000, '\x85') + ".";
    ExpectRefused(path, changed);
  }
}

TEST_F(TensorArchiveTest, AFileThatWasCutIsRefusedWhereverItEnds) {
  const std::string cut = folder_ / "cut.pt";
  for (const std::string& path : {network_, samples_}) {
    const std::string whole = ReadFile(path).value();
    for (std::size_t left = 0; left < whole.size(); left += 97) {
      const std::string file = folder_.Write("cut.pt", whole.substr(0, left));
      const absl::Status status =
          path == network_ ? LoadTorchScriptChain(file).status() : ReadTensors(file).status();
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << left << ": " << status;
    }
  }
}

// A thousandth of the bytes says how many zeros they are.
TEST_F(TensorArchiveTest, TensorsThatWereCompressedAreRefused) {
  ASSERT_TRUE(WriteTensors(samples_, {{"zeros", at::zeros({1 << 20})}}).ok());
  const std::string small = folder_ / "small.pt";
  caffe2::serialize::PyTorchStreamWriter writer(small);
  for (const auto& [name, bytes] : Read(samples_)) {
    writer.writeRecord(name, bytes.data(), bytes.size(), /*compress=*/true);
  }
  writer.writeEndOfFile();
  ASSERT_LT(std::filesystem::file_size(small), 100'000);
  const absl::Status status = ReadTensors(small).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("have more bytes than the file"));
}

TEST_F(TensorArchiveTest, APickleThatWasCompressedIsRefused) {
  const std::string pickle = "\x80\x02" + std::string(1 << 20, 'N') + ".";
  const std::string small = folder_ / "small.pt";
  caffe2::serialize::PyTorchStreamWriter writer(small);
  writer.writeRecord("data.pkl", pickle.data(), pickle.size(), /*compress=*/true);
  writer.writeEndOfFile();
  ASSERT_LT(std::filesystem::file_size(small), 100'000);
  EXPECT_THAT(std::string(ReadTensors(small).status().message()),
              HasSubstr("have more bytes than the file"));
}

TEST_F(TensorArchiveTest, OldAndQuantizedOnesAreRefusedInWords) {
  Records old = Read(network_);
  old["model.json"] = "{}";
  EXPECT_THAT(std::string(Load(network_, old).message()), HasSubstr("a PyTorch before 1.3"));
  Records quantized = Read(network_);
  std::string& pickle = quantized["data.pkl"];
  pickle.replace(pickle.find("_rebuild_tensor_v2"), 18, "_rebuild_qtensor");
  EXPECT_THAT(std::string(Load(network_, quantized).message()), HasSubstr("is quantized"));
}

}  // namespace
}  // namespace millrace::pipeline
