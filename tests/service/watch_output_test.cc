#include "service/watch_output.h"

#include <cerrno>
#include <sstream>
#include <streambuf>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"

namespace millrace::service {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

/// Of a stream that learns from labels: `labelled` frames of the window have one.
v1::SubscribeResponse OfLabels(int labelled) {
  v1::SubscribeResponse response;
  v1::Prediction& prediction = *response.mutable_prediction();
  prediction.set_stream("gate");
  prediction.mutable_outputs();
  prediction.set_labelled(labelled);
  if (labelled > 0) prediction.set_loss(0.25F);
  return response;
}

v1::SubscribeResponse OfFlow() {
  v1::SubscribeResponse response;
  v1::Prediction& prediction = *response.mutable_prediction();
  prediction.set_stream("gate");
  prediction.set_loss(0.25F);
  prediction.set_loss_no_motion(0.5F);
  return response;
}

TEST(WatchOutputTest, ALossThatThereIsNoneOfIsNotSaid) {
  EXPECT_THAT(WatchLine(OfLabels(0)), Not(HasSubstr("loss")));
  const auto json = nlohmann::json::parse(WatchJson(OfLabels(0)));
  EXPECT_TRUE(json.at("loss").is_null()) << json;
  EXPECT_TRUE(json.at("loss_no_motion").is_null()) << json;
}

TEST(WatchOutputTest, SaysTheLossesThatThereAre) {
  EXPECT_THAT(WatchLine(OfLabels(3)), HasSubstr("loss 0.2500"));
  EXPECT_EQ(nlohmann::json::parse(WatchJson(OfLabels(3))).at("loss"), 0.25);
  EXPECT_THAT(WatchLine(OfFlow()), HasSubstr("loss 0.2500, 0.50 of no motion"));
  EXPECT_EQ(nlohmann::json::parse(WatchJson(OfFlow())).at("loss_no_motion"), 0.5);
}

/// A terminal, as far as it matters here: what is written to it, drawn.
std::vector<std::string> Screen(const std::string& written, std::size_t rows) {
  std::vector<std::string> lines(1);
  std::size_t at = 0;
  std::size_t top = 0;  // The rows above have scrolled away.
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i] == '\r') {
      lines[at].clear();
    } else if (written[i] == '\n') {
      if (++at == lines.size()) lines.emplace_back();
      if (at >= top + rows) top = at - rows + 1;
    } else if (written[i] == '\x1b') {
      const std::size_t end = written.find_first_not_of("0123456789", i + 2);
      const std::size_t up = written[end] == 'A' ? std::stoul(written.substr(i + 2)) : 0;
      at = at < top + up ? top : at - up;
      if (written[end] == 'J') lines.resize(at + 1);
      i = end;
    } else {
      lines[at] += written[i];
    }
  }
  return lines;
}

TEST(WatchScreenTest, RewritesALineForEachStream) {
  std::ostringstream out;
  WatchScreen screen(out, /*terminal=*/true, {"gate", "yard"});
  EXPECT_TRUE(screen.Show("yard", "yard 1", {.columns = 80, .rows = 24}));
  EXPECT_TRUE(screen.Show("gate", "gate 1", {.columns = 80, .rows = 24}));
  EXPECT_TRUE(screen.Show("gate", "gate 2 and more", {.columns = 6, .rows = 24}));
  EXPECT_THAT(Screen(out.str(), 24), ElementsAre("gate 2", "yard 1", ""));
}

TEST(WatchScreenTest, DrawsNoMoreLinesThanTheTerminalHasRows) {
  std::ostringstream out;
  WatchScreen screen(out, /*terminal=*/true, {"a", "b", "c", "d", "e"});
  for (int i = 1; i <= 3; ++i) {
    for (const std::string name : {"a", "b", "e"}) {
      ASSERT_TRUE(screen.Show(name, name + std::to_string(i), {.columns = 80, .rows = 4}));
    }
  }
  EXPECT_THAT(Screen(out.str(), 4), ElementsAre("a3", "b3", "... and 3 more", ""));
}

TEST(WatchScreenTest, FollowsATerminalThatIsMadeSmallerAndLarger) {
  std::ostringstream out;
  WatchScreen screen(out, /*terminal=*/true, {"a", "b", "c"});
  ASSERT_TRUE(screen.Show("a", "a1", {.columns = 80, .rows = 24}));
  ASSERT_TRUE(screen.Show("a", "a2", {.columns = 80, .rows = 4}));
  EXPECT_THAT(Screen(out.str(), 24),
              ElementsAre("a2", "b  no prediction yet", "c  no prediction yet", ""));
  ASSERT_TRUE(screen.Show("a", "a3", {.columns = 80, .rows = 3}));
  EXPECT_THAT(out.str(), EndsWith("... and 2 more\x1b[K\n\x1b[J"));
  ASSERT_TRUE(screen.Show("a", "a4", {.columns = 80, .rows = 24}));
  EXPECT_THAT(out.str(), EndsWith("c  no prediction yet\x1b[K\n"));
}

TEST(WatchScreenTest, WhatIsSaidBetweenStaysAboveTheLines) {
  std::ostringstream out;
  WatchScreen screen(out, /*terminal=*/true, {"gate", "yard"});
  ASSERT_TRUE(screen.Show("gate", "gate 1", {.columns = 80, .rows = 24}));
  screen.Say(out, "yard has failed\n");
  ASSERT_TRUE(screen.Show("gate", "gate 2", {.columns = 80, .rows = 24}));
  ASSERT_TRUE(screen.Show("gate", "gate 3", {.columns = 80, .rows = 24}));
  EXPECT_THAT(Screen(out.str(), 24),
              ElementsAre("gate 1", "yard  no prediction yet", "yard has failed", "gate 3",
                          "yard  no prediction yet", ""));
}

/// Takes nothing.
class Failing final : public std::streambuf {
 public:
  explicit Failing(int error) : error_(error) {}

 private:
  int overflow(int /*character*/) override {
    errno = error_;
    return traits_type::eof();
  }

  const int error_;
};

TEST(WatchScreenTest, SaysThatNobodyReadsAnyMore) {
  Failing closed(EPIPE);
  std::ostream out(&closed);
  WatchScreen screen(out, /*terminal=*/false, {"gate"});
  EXPECT_TRUE(screen.written().ok());
  EXPECT_FALSE(screen.Show("gate", "gate 1", {}));
  EXPECT_FALSE(screen.Show("gate", "gate 2", {}));
  EXPECT_TRUE(absl::IsCancelled(screen.written())) << screen.written();
}

TEST(WatchScreenTest, SaysWhyItCannotBeWritten) {
  Failing full(ENOSPC);
  std::ostream out(&full);
  WatchScreen screen(out, /*terminal=*/false, {"gate"});
  EXPECT_FALSE(screen.Show("gate", "gate 1", {}));
  EXPECT_THAT(std::string(screen.written().message()), HasSubstr("No space left on device"));
}

}  // namespace
}  // namespace millrace::service
