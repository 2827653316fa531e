#include "service/server/certificate_watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"
#include "tests/service/support/secret_files.h"

namespace millrace::service {
namespace {

using std::chrono::hours;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr hours kDay(24);

std::vector<std::string> Lines(const std::string& log) {
  return absl::StrSplit(log, '\n', absl::SkipEmpty());
}

class CertificateWatchTest : public testing::Test {
 protected:
  CertificateWatchTest() {
    const auto here = std::make_shared<spdlog::logger>(
        "here", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_));
    here->set_pattern("%l %v");
    spdlog::set_default_logger(here);
    files_.MakeAuthority("authority");
    Put("first", /*days=*/30);
    now_ = WallTime();
  }
  ~CertificateWatchTest() override { spdlog::set_default_logger(before_); }

  /// As an operator does it.
  void Put(const std::string& name, int days) {
    files_.MakeCertificate(name, "authority", days);
    PutKey(name);
    std::filesystem::rename(files_.Path(name + ".pem"), tls_.certificate);
  }
  void PutKey(const std::string& name) {
    std::filesystem::rename(files_.Path(name + ".key"), tls_.key);
  }
  /// The authorities of clients, which expire in this number of days.
  void PutAuthorities(const std::vector<int>& days) {
    std::string all;
    for (const int end : days) {
      files_.MakeCertificate("client", "authority", end);
      all += ReadAll(files_.Path("client.pem"));
    }
    tls_.client_ca = files_.Write("clients.pem", all);
    now_ = WallTime();  // None is looked at before it is valid.
  }
  [[nodiscard]] std::unique_ptr<CertificateWatch> Watch() {
    return std::make_unique<CertificateWatch>(
        CertificateWatch::Options{.tls = tls_, .now = [this] { return now_; }});
  }
  /// What was logged since the last call.
  [[nodiscard]] std::string Said() { return std::exchange(log_, std::ostringstream()).str(); }

  const SecretFiles files_;
  GrpcSecurity::Tls tls_ = {
      .certificate = files_.Path("server.pem"), .key = files_.Path("server.key"), .client_ca = ""};
  nanoseconds now_ = {};
  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  std::ostringstream log_;
};

TEST_F(CertificateWatchTest, KnowsWhenItExpires) {
  const nanoseconds days = *Watch()->expiry() - now_;
  EXPECT_GT(days, 29 * kDay);
  EXPECT_LE(days, 30 * kDay);
  EXPECT_EQ(CertificateWatch({}).expiry(), std::nullopt);
}

TEST_F(CertificateWatchTest, SaysOnceThatItExpiresAndThatItHas) {
  const auto watch = Watch();
  watch->Look();
  EXPECT_EQ(Said(), "");
  now_ += 20 * kDay;
  watch->Look();
  watch->Look();
  const std::string soon = Said();
  EXPECT_THAT(soon, AllOf(StartsWith("warning listen.tls.certificate: " + tls_.certificate),
                          HasSubstr(" expires on ")));
  EXPECT_EQ(std::count(soon.begin(), soon.end(), '\n'), 1) << soon;
  now_ += 20 * kDay;
  watch->Look();
  EXPECT_THAT(Said(), AllOf(StartsWith("error"), HasSubstr(" has expired on ")));
}

TEST_F(CertificateWatchTest, AnAuthorityOfClientsThatHasExpiredHidesNoOtherThatWill) {
  PutAuthorities({-1, 10, 20});
  const auto watch = Watch();
  watch->Look();
  watch->Look();
  const std::string of_file = " listen.tls.client_ca: " + tls_.client_ca;
  EXPECT_THAT(
      Lines(Said()),
      ElementsAre(AllOf(StartsWith("error" + of_file),
                        HasSubstr(": 1 of its 3 certificates has expired, so that clients whose")),
                  AllOf(StartsWith("warning" + of_file), HasSubstr(" expires on "))));
  EXPECT_GT(*watch->expiry(), now_) << "of the server's own";
  now_ += 11 * kDay;
  watch->Look();
  watch->Look();
  EXPECT_THAT(Lines(Said()), ElementsAre(HasSubstr(": 2 of its 3 certificates have expired, so"),
                                         HasSubstr(" expires on ")));
  now_ += 10 * kDay;
  watch->Look();
  watch->Look();
  EXPECT_THAT(Lines(Said()),
              Contains(AllOf(StartsWith("error" + of_file + " has expired on "),
                             HasSubstr(", so that clients whose certificates it has signed are"))));
}

TEST_F(CertificateWatchTest, SaysThatItIsNotValidYet) {
  now_ -= 20 * kDay;
  Watch()->Look();
  EXPECT_THAT(Said(), AllOf(StartsWith("warning"), HasSubstr(" is not valid before ")));
}

// gRPC took it without a word.
TEST_F(CertificateWatchTest, AnExpiredOneThatIsPutInItsPlaceIsSaid) {
  const auto watch = Watch();
  Put("late", /*days=*/-1);
  watch->Look();
  EXPECT_EQ(Said(), "") << "its key may be on its way";
  watch->Look();
  EXPECT_THAT(Said(), HasSubstr(tls_.certificate + " has expired; clients that connect"));
  EXPECT_LT(*watch->expiry(), now_);
  Put("good", /*days=*/30);
  watch->Look();
  watch->Look();
  EXPECT_THAT(Said(), HasSubstr("info listen.tls was read again, as it has changed"));
  EXPECT_GT(*watch->expiry(), now_);
}

TEST_F(CertificateWatchTest, AKeyOfAnotherCertificateIsSaid) {
  const auto watch = Watch();
  files_.MakeCertificate("other", "authority", 30);
  PutKey("other");
  watch->Look();
  watch->Look();
  EXPECT_THAT(Said(), HasSubstr("is the key of another certificate"));
}

TEST_F(CertificateWatchTest, APipeInItsPlaceIsSaidAndNotWaitedFor) {
  const auto watch = Watch();
  std::filesystem::remove(tls_.certificate);
  ASSERT_EQ(mkfifo(tls_.certificate.c_str(), 0600), 0);
  watch->Look();
  watch->Look();
  EXPECT_THAT(Said(), HasSubstr("it is a pipe, socket or device"));
  EXPECT_EQ(watch->expiry(), std::nullopt);
}

}  // namespace
}  // namespace millrace::service
