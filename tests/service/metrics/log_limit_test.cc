#include "service/metrics/log_limit.h"

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log_about.h"
#include "prometheus/text_serializer.h"
#include "spdlog/logger.h"
#include "spdlog/sinks/base_sink.h"

namespace millrace::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Keeps "LEVEL STREAM TEXT".
class KeptLines final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::vector<std::string> Take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const auto level = spdlog::level::to_string_view(message.level);
    lines_.push_back(std::string(level.data(), level.size()) + " " +
                     std::string(LogAbout::Stream()) + " " +
                     std::string(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}

  std::vector<std::string> lines_;
};

class LogLimitTest : public ::testing::Test {
 protected:
  LogLimitTest() { log_.set_level(spdlog::level::debug); }

  FakeClock clock_;
  LogCounts counts_;
  std::shared_ptr<KeptLines> kept_ = std::make_shared<KeptLines>();
  std::shared_ptr<LogLimit> limit_ = std::make_shared<LogLimit>(
      LogLimit::Options{.to = kept_, .counts = &counts_, .clock = &clock_});
  spdlog::logger log_{"test", limit_};
};

TEST_F(LogLimitTest, WhatIsSaidOnceIsShownAtOnce) {
  log_.warn("the disk is full");
  log_.error("the disk is full");
  log_.warn("the disk is slow");
  EXPECT_THAT(kept_->Take(), ElementsAre("warning  the disk is full", "error  the disk is full",
                                         "warning  the disk is slow"));
  clock_.Advance(seconds(5));
  log_.flush();
  EXPECT_THAT(kept_->Take(), IsEmpty());
}

TEST_F(LogLimitTest, RepeatsAreSummedUpOnceASecond) {
  for (int frame = 7; frame < 7 + 43; ++frame) log_.warn("frame {} was refused", frame);
  EXPECT_THAT(kept_->Take(), ElementsAre("warning  frame 7 was refused"));
  clock_.Advance(milliseconds(999));
  log_.flush();
  EXPECT_THAT(kept_->Take(), IsEmpty());
  clock_.Advance(milliseconds(1));
  log_.flush();
  EXPECT_THAT(kept_->Take(), ElementsAre("warning  frame 49 was refused ... and 41 more like it"));
  log_.warn("frame 1000 was refused");
  EXPECT_THAT(kept_->Take(), IsEmpty()) << "not a second after the last";
  clock_.Advance(seconds(1));
  log_.info("another");
  EXPECT_THAT(kept_->Take(), ElementsAre("warning  frame 1000 was refused", "info  another"));
}

TEST_F(LogLimitTest, AddressesMakeNoDifference) {
  for (const char* const address : {"fe80::1", "2001:db8::dead:beef", "::ffff:10.0.0.1", "::1"}) {
    log_.warn("it came from {}: no token", address);
  }
  EXPECT_THAT(kept_->Take(), ElementsAre("warning  it came from fe80::1: no token"));
  log_.warn("std::bad: a face: a bed");
  log_.warn("std::bad: a face: a dad");
  EXPECT_THAT(kept_->Take(), SizeIs(2)) << "words are no addresses";
}

TEST_F(LogLimitTest, AfterAQuietSecondItIsNoRepeatAnyMore) {
  log_.warn("frame 7 was refused");
  clock_.Advance(seconds(1));
  log_.warn("frame 8 was refused");
  EXPECT_THAT(kept_->Take(),
              ElementsAre("warning  frame 7 was refused", "warning  frame 8 was refused"));
}

TEST_F(LogLimitTest, StreamsDoNotHideEachOther) {
  for (const char* stream : {"gate", "yard", "gate"}) {
    const LogAbout about(stream);
    log_.warn("the camera is away");
  }
  EXPECT_THAT(kept_->Take(),
              ElementsAre("warning gate the camera is away", "warning yard the camera is away"));
  clock_.Advance(seconds(1));
  log_.flush();
  EXPECT_THAT(kept_->Take(), ElementsAre("warning gate the camera is away"));
}

TEST_F(LogLimitTest, WhoDebugsSeesAll) {
  for (int i = 0; i < 3; ++i) log_.debug("a try");
  EXPECT_THAT(kept_->Take(), SizeIs(3));
}

TEST_F(LogLimitTest, WhatItStillHoldsIsShownAtTheEnd) {
  for (int i = 0; i < 3; ++i) log_.error("failed");
  log_.sinks().clear();
  limit_.reset();
  EXPECT_THAT(kept_->Take(), ElementsAre("error  failed", "error  failed ... and 1 more like it"));
}

TEST_F(LogLimitTest, RemembersABoundedNumberOfKinds) {
  std::string text;
  for (int i = 0; i < 1000; ++i) log_.warn(text += "x");
  log_.warn(text);
  EXPECT_THAT(kept_->Take(), SizeIs(1001)) << "beyond the bound nothing is held back";
}

TEST_F(LogLimitTest, CountsWhatItShowsAndWhatItHolds) {
  const auto text = [this] {
    return prometheus::TextSerializer().Serialize({LogMessagesFamily(counts_)});
  };
  for (const char* level : {"debug", "info", "warning", "error", "critical"}) {
    EXPECT_THAT(text(),
                HasSubstr("millrace_log_messages_total{level=\"" + std::string(level) + "\"} 0\n"));
  }
  for (int i = 0; i < 40; ++i) log_.warn("again");
  log_.error("once");
  EXPECT_THAT(text(), HasSubstr("{level=\"warning\"} 40\n"));
  EXPECT_THAT(text(), HasSubstr("{level=\"error\"} 1\n"));
}

TEST_F(LogLimitTest, NothingIsLostBetweenThreads) {
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([this] {
        for (int i = 0; i < 250; ++i) {
          log_.warn("again");
          if (i % 50 == 0) clock_.Advance(seconds(1));
          log_.flush();
        }
      });
    }
  }
  log_.sinks().clear();
  limit_.reset();
  int said = 0;
  for (const std::string& line : kept_->Take()) {
    const std::size_t more = line.find("... and ");
    said += 1 + (more == std::string::npos ? 0 : std::stoi(line.substr(more + 8)));
  }
  EXPECT_EQ(said, 1000);
}

}  // namespace
}  // namespace millrace::service
