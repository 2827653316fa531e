// docs/metrics.md lists the server's metrics, and no page names a metric that does not exist.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "service/metrics/metrics.h"
#include "service/metrics/metrics_states.h"
#include "tests/service/support/every_kind_of_stream.h"
#include "tests/service/support/metrics_table.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// README.md, and every page below the folders that people read.
std::vector<std::filesystem::path> Pages(const std::filesystem::path& root) {
  std::vector<std::filesystem::path> pages = {root / "README.md"};
  for (const char* folder : {"docs", "deploy", "dashboards", "samples"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() == ".md") pages.push_back(entry.path());
    }
  }
  return pages;
}

/// What else begins with `millrace_` there: libraries.
constexpr std::array kLibraries = {"millrace_base",   "millrace_cuda", "millrace_cuda_kernels",
                                   "millrace_frames", "millrace_plan", "millrace_streams"};

class MetricsPageTest : public ::testing::Test {
 protected:
  const std::filesystem::path docs_{MILLRACE_DOCS};
  const std::string page_ = ReadFile(docs_ / "metrics.md");
  const EveryKindOfStream kinds_;
  const ConnectionCounts counts_;
  const std::vector<prometheus::MetricFamily> families_ =
      Metrics({.streams = &kinds_.streams,
               .calls = &kinds_.calls,
               .viewers = [] { return std::size_t{1}; },
               .connections = {{"grpc_port", &counts_},
                               {"http_port", &counts_},
                               {"metrics_port", &counts_}},
               .configuration = [] { return ConfigStanding(); },
               .certificate_expiry = [] { return std::optional<nanoseconds>(); }})
          .Collect();
};

TEST_F(MetricsPageTest, HasTheTableThatTheCodeMakes) {
  const std::size_t begin = page_.find(kTableBegins);
  const std::size_t end = page_.find(kTableEnds);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::size_t table = begin + kTableBegins.size();
  const std::string made =
      absl::StrCat(page_.substr(0, table), "\n", MetricsTable(families_), "\n", page_.substr(end));
  if (std::getenv("MILLRACE_WRITE_DOCS") != nullptr) {
    std::ofstream(docs_ / "metrics.md") << made;
    GTEST_SKIP() << "has written the page";
  }
  EXPECT_EQ(page_, made)
      << "MILLRACE_WRITE_DOCS=1 service_metrics_test --gtest_filter='MetricsPageTest.*' writes it";
}

TEST_F(MetricsPageTest, EveryMetricOfThePagesExists) {
  std::set<std::string> names;
  for (const prometheus::MetricFamily& family : families_) {
    names.insert(family.name);
    if (family.type != prometheus::MetricType::Histogram) continue;
    for (const char* suffix : {"_bucket", "_sum", "_count"}) names.insert(family.name + suffix);
  }
  names.insert(kLibraries.begin(), kLibraries.end());
  const std::regex name("millrace_[a-z0-9_]+");
  for (const std::filesystem::path& path : Pages(docs_ / "..")) {
    const std::string page = ReadFile(path);
    for (std::sregex_iterator found(page.begin(), page.end(), name), end; found != end; ++found) {
      EXPECT_TRUE(names.contains(found->str())) << path << " names " << found->str();
    }
  }
}

TEST_F(MetricsPageTest, ExplainsEveryReasonOfADrop) {
  for (std::size_t i = 0; i < kDropReasons; ++i) {
    const std::string reason(Name(static_cast<DropReason>(i)));
    EXPECT_THAT(page_, HasSubstr(absl::StrCat("\n| `", reason, "` |")));
  }
}

TEST_F(MetricsPageTest, ExplainsEveryReasonWhyNothingIsLearned) {
  for (int i = 1; i < pipeline::kSkipReasons; ++i) {
    const std::string reason(Name(static_cast<pipeline::SkipReason>(i)));
    EXPECT_THAT(page_, HasSubstr(absl::StrCat("`", reason, "`")));
  }
}

}  // namespace
}  // namespace millrace::service
