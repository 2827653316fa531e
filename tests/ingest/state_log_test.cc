#include "ingest/state_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/ingest/logged.h"

namespace millrace::ingest {
namespace {

using ::testing::ElementsAre;

const absl::Status kNone = absl::OkStatus();

TEST(StateLogTest, SaysWhatACameraComesTo) {
  const Logged logged;
  StateLog log("camera", StateLog::Of::kCamera);
  log.Enter(SourceState::kConnecting, kNone);
  log.Enter(SourceState::kStreaming, kNone);
  log.Enter(SourceState::kStalled, absl::UnavailableError("no frame for 1 s"));
  log.Enter(SourceState::kBackingOff, absl::UnavailableError("refused"));
  log.Enter(SourceState::kFailed, absl::InternalError("a bug"));
  EXPECT_EQ(logged.text(),
            "info camera: connecting\n"
            "info camera: streaming\n"
            "warning camera: stalled: no frame for 1 s\n"
            "warning camera: backing off: refused; it is tried until it is there\n"
            "error camera: failed: a bug\n");
}

TEST(StateLogTest, SaysEachCauseOfAnOutageOnceAndCountsEachTry) {
  const Logged logged;
  StateLog log("camera", StateLog::Of::kCamera);
  log.Enter(SourceState::kConnecting, kNone);
  for (int outage = 0; outage < 2; ++outage) {
    for (const char* cause : {"refused", "refused", "silent", "refused"}) {
      log.Enter(SourceState::kBackingOff, absl::UnavailableError(cause));
      log.Enter(SourceState::kConnecting, absl::UnavailableError(cause));
    }
    log.Enter(SourceState::kStreaming, kNone);
  }
  const std::string outage =
      "warning camera: backing off: refused; it is tried until it is there\n"
      "warning camera: backing off: silent; it is tried until it is there\n"
      "info camera: streaming\n";
  EXPECT_EQ(logged.text(), "info camera: connecting\n" + outage + outage);
  EXPECT_THAT(log.entered(), ElementsAre(9, 2, 0, 8, 0, 0, 0));
}

TEST(StateLogTest, AFileIsLoggedOnlyWhereItBreaksOff) {
  const Logged logged;
  StateLog opened_in_vain("film", StateLog::Of::kFile);
  opened_in_vain.Enter(SourceState::kConnecting, kNone);
  opened_in_vain.Enter(SourceState::kFailed, absl::NotFoundError("told to who opened it"));
  StateLog log("film", StateLog::Of::kFile);
  log.Enter(SourceState::kConnecting, kNone);
  log.Enter(SourceState::kStreaming, kNone);
  log.Enter(SourceState::kFailed, absl::DataLossError("torn"));
  EXPECT_EQ(logged.text(), "error film: failed: torn\n");
}

}  // namespace
}  // namespace millrace::ingest
