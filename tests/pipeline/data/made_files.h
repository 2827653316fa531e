// Small files of data sets, made by a test.
#pragma once

#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace millrace::pipeline {

/// A separate folder for each test.
class MadeFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) /
              (std::string(test->name()) + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string Path(const std::string& name) const { return folder_ / name; }

  std::string Write(const std::string& name, const std::string& content) const {
    std::ofstream(Path(name), std::ios::binary) << content;
    return Path(name);
  }

  std::string WriteCompressed(const std::string& name, const std::string& content) const {
    const gzFile file = gzopen(Path(name).c_str(), "wb");
    gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
    gzclose(file);
    return Path(name);
  }

 private:
  std::filesystem::path folder_;
};

/// A number as idx files have it.
inline std::string BigEndian(std::uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xFFU);
  return bytes;
}

/// `count` images of 2 x 3 pixels: 0, 1, 2 ...
inline std::string IdxImages(std::uint32_t count) {
  std::string content = BigEndian(0x803) + BigEndian(count) + BigEndian(2) + BigEndian(3);
  for (std::uint32_t i = 0; i < count * 6; ++i) content += static_cast<char>(i);
  return content;
}

inline std::string IdxLabels(const std::string& labels) {
  return BigEndian(0x801) + BigEndian(static_cast<std::uint32_t>(labels.size())) + labels;
}

}  // namespace millrace::pipeline
