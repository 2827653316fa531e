#include "ingest/source/state_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/log_about.h"
#include "base/mutex.h"
#include "tests/ingest/support/logged.h"

namespace millrace::ingest {
namespace {

using ::testing::ElementsAre;

const absl::Status kNone = absl::OkStatus();

absl::Status Because(const std::string& cause) { return absl::UnavailableError(cause); }

TEST(StateLogTest, SaysWhatACameraComesTo) {
  const Logged logged;
  StateLog log("camera", StateLog::Kind::kCamera);
  EXPECT_EQ(log.state(), SourceState::kConnecting);
  EXPECT_THAT(log.entered(), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
  log.Enter(SourceState::kConnecting, kNone);
  log.Enter(SourceState::kStreaming, kNone);
  log.Enter(SourceState::kStalled, Because("no frame for 1 s"));
  log.Enter(SourceState::kBackingOff, Because("refused"));
  log.Enter(SourceState::kFailed, absl::InternalError("a bug"));
  EXPECT_EQ(log.state(), SourceState::kFailed);
  EXPECT_EQ(logged.text(), "") << "whoever enters may hold a lock";
  EXPECT_TRUE(log.has_pending());
  log.Log();
  EXPECT_FALSE(log.has_pending());
  EXPECT_EQ(logged.text(),
            "info camera: connecting\n"
            "info camera: streaming\n"
            "warning camera: stalled: no frame for 1 s\n"
            "warning camera: backing off: refused; it is tried until it is there\n"
            "error camera: failed: a bug\n");
}

TEST(StateLogTest, SaysWhichStreamItsLinesAreAbout) {
  const Logged logged;
  std::string told_about;
  StateLog log(
      "camera", StateLog::Kind::kCamera,
      [&](SourceState, const absl::Status&) { told_about = LogAbout::Stream(); }, "door");
  log.Enter(SourceState::kConnecting, kNone);
  log.Log();
  EXPECT_EQ(told_about, "door");
  EXPECT_EQ(LogAbout::Stream(), "");
  EXPECT_EQ(logged.text(), "info stream 'door': camera: connecting\n");
}

TEST(StateLogTest, SaysEachCauseOfAnOutageOnceAndCountsEachTry) {
  const Logged logged;
  StateLog log("camera", StateLog::Kind::kCamera);
  log.Enter(SourceState::kConnecting, kNone);
  for (int outage = 0; outage < 2; ++outage) {
    for (const char* cause : {"refused", "refused", "silent", "refused"}) {
      log.Enter(SourceState::kBackingOff, Because(cause));
      log.Enter(SourceState::kConnecting, Because(cause));
    }
    log.Enter(SourceState::kStreaming, kNone);
    log.Hold();
    log.Hold();
  }
  log.Log();
  const std::string outage =
      "warning camera: backing off: refused; it is tried until it is there\n"
      "warning camera: backing off: silent; it is tried until it is there\n"
      "info camera: streaming\n";
  EXPECT_EQ(logged.text(), "info camera: connecting\n" + outage + outage);
  EXPECT_THAT(log.entered(), ElementsAre(9, 2, 0, 8, 0, 0, 0, 0));
}

// For weeks, if it has to be.
TEST(StateLogTest, ACameraThatComesAndGoesIsOneOutage) {
  const Logged logged;
  StateLog log("camera", StateLog::Kind::kCamera);
  log.Enter(SourceState::kConnecting, kNone);
  for (int i = 0; i < 1000; ++i) {
    log.Enter(SourceState::kStreaming, kNone);
    log.Enter(SourceState::kStalled, Because("no frame for 1 s"));
    if (i % 2 == 0) continue;
    log.Enter(SourceState::kBackingOff, Because("no frame within 2 s"));
    log.Enter(SourceState::kConnecting, Because("no frame within 2 s"));
  }
  log.Enter(SourceState::kStreaming, kNone);
  log.Hold();
  log.Log();
  EXPECT_EQ(logged.text(),
            "info camera: connecting\n"
            "info camera: streaming\n"
            "warning camera: stalled: no frame for 1 s\n"
            "warning camera: backing off: no frame within 2 s; it is tried until it is there\n"
            "info camera: streaming\n");
  EXPECT_THAT(log.entered(), ElementsAre(501, 1001, 1000, 500, 0, 0, 0, 0));
}

TEST(StateLogTest, SaysEightCausesOfAnOutage) {
  const Logged logged;
  StateLog log("camera", StateLog::Kind::kCamera);
  for (int i = 0; i < 20; ++i) log.Enter(SourceState::kBackingOff, Because(std::to_string(i)));
  log.Log();
  const std::string text = logged.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8) << text;
}

TEST(StateLogTest, AFileIsLoggedOnlyWhereItBreaksOff) {
  const Logged logged;
  StateLog opened_in_vain("film", StateLog::Kind::kFile);
  opened_in_vain.Enter(SourceState::kConnecting, kNone);
  opened_in_vain.Enter(SourceState::kFailed, absl::NotFoundError("told to who opened it"));
  opened_in_vain.Log();
  StateLog log("film", StateLog::Kind::kFile);
  log.Enter(SourceState::kConnecting, kNone);
  log.Enter(SourceState::kStreaming, kNone);
  log.Enter(SourceState::kFailed, absl::DataLossError("torn"));
  log.Log();
  EXPECT_EQ(logged.text(), "error film: failed: torn\n");
}

TEST(StateLogTest, OfPushedFramesItSaysWhenAClientComesAndGoes) {
  const Logged logged;
  StateLog log("push", StateLog::Kind::kPushed);
  log.Enter(SourceState::kConnecting, Because("no client"));
  log.Enter(SourceState::kStreaming, kNone);
  log.Enter(SourceState::kConnecting, Because("no client"));
  log.Enter(SourceState::kStreaming, kNone);
  log.Enter(SourceState::kStopped, kNone);
  log.Log();
  EXPECT_EQ(logged.text(),
            "info push: streaming\n"
            "info push: connecting: no client\n"
            "info push: streaming\n");
}

/// Lets other threads go first, again and again, before it writes.
class PoliteSink final : public spdlog::sinks::sink {
 public:
  void log(const spdlog::details::log_msg& message) override {
    for (int i = 0; i < 10; ++i) std::this_thread::yield();
    const MutexLock lock(mu_);
    lines_.emplace_back(message.payload.begin(), message.payload.end());
  }
  void flush() override {}
  void set_pattern(const std::string& /*pattern*/) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter> /*formatter*/) override {}
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

 private:
  Mutex mu_;
  std::vector<std::string> lines_;
};

// Each thread says what it has entered, or the other one does.
TEST(StateLogTest, WritesInOrderWhicheverThreadWrites) {
  const Logged restores_the_logger;
  const auto sink = std::make_shared<PoliteSink>();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("polite", sink));
  StateLog log("camera", StateLog::Kind::kCamera);
  Mutex mu;
  int entered = 0;
  const auto fail = [&] {
    for (int i = 0; i < 2000; ++i) {
      {
        const MutexLock lock(mu);
        log.Enter(SourceState::kFailed, Because(std::to_string(++entered)));
      }
      log.Log();
    }
  };
  {
    const std::jthread one(fail);
    const std::jthread other(fail);
  }
  for (std::size_t i = 0; i < sink->lines().size(); ++i) {
    ASSERT_EQ(sink->lines()[i], "camera: failed: " + std::to_string(i + 1));
  }
  EXPECT_EQ(sink->lines().size(), 4000U);
}

}  // namespace
}  // namespace millrace::ingest
