#include "service/access/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/service/support/secret_files.h"

namespace millrace::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kLook[] = "millrace.v1.StreamService/GetStream";
constexpr char kChange[] = "millrace.v1.LabelService/AddLabels";
constexpr char kHere[] = "ipv4:127.0.0.1:40312";
constexpr char kThere[] = "ipv4:192.0.2.7:40312";

class AdmissionTest : public ::testing::Test {
 protected:
  void Use(GrpcSecurity security) {
    auto made = Admission::Make(security);
    ASSERT_TRUE(made.ok()) << made.status();
    admission_ = *std::move(made);
  }
  void UseTokens(ControlFrom control) {
    Use({.tokens_file =
             files_.Write("tokens", "view looks-0123456789\ncontrol changes-0123456789\n"),
         .control = control});
  }

  absl::Status Call(std::string_view method, std::string peer,
                    std::vector<std::string_view> authorization = {}) {
    return admission_->Admit(
        {.method = method, .peer = std::move(peer), .authorization = std::move(authorization)});
  }

  SecretFiles files_;
  std::unique_ptr<Admission> admission_;
};

TEST_F(AdmissionTest, WithoutTokensEverybodyMayLookAndOnlyThisMachineMayControl) {
  Use({});
  EXPECT_TRUE(Call(kLook, kThere).ok());
  EXPECT_TRUE(Call(kChange, kHere).ok());
  const absl::Status refused = Call(kChange, kThere);
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr(kChange), HasSubstr("set listen.control to on")));
}

TEST_F(AdmissionTest, ThisMachineIsKnownByItsAddressAndNothingElseIs) {
  Use({});
  for (const char* const peer : {"ipv4:127.0.0.1:1", "ipv4:127.8.9.1:1", "ipv6:%5B::1%5D:1",
                                 "ipv6:[::1]:1", "ipv6:%5B::ffff:127.0.0.1%5D:1"}) {
    EXPECT_TRUE(Call(kChange, peer).ok()) << peer;
  }
  for (const char* const peer :
       {"ipv4:128.0.0.1:1", "ipv4:10.127.0.0:1", "ipv6:%5B2001:db8::1%5D:1",
        "ipv6:%5B::ffff:10.0.0.1%5D:1", "ipv6:%5Bfe80::1%25eth0%5D:1", "ipv6:[",
        "ipv6:[:", "ipv4:", "ipv4", "", "unix:/tmp/x", "127.0.0.1:1"}) {
    EXPECT_FALSE(Call(kChange, peer).ok()) << peer;
  }
}

TEST_F(AdmissionTest, ControlIsWhereTheConfigurationSays) {
  Use({.control = ControlFrom::kAnywhere});
  EXPECT_TRUE(Call(kChange, kThere).ok());
  Use({.control = ControlFrom::kNowhere});
  EXPECT_TRUE(Call(kLook, kThere).ok());
  EXPECT_THAT(std::string(Call(kChange, kHere).message()), HasSubstr("listen.control is off"));
}

TEST_F(AdmissionTest, WithTokensNothingIsServedWithoutOne) {
  UseTokens(ControlFrom::kAnywhere);
  for (const std::vector<std::string_view>& said : std::vector<std::vector<std::string_view>>{
           {},
           {""},
           {"Bearer"},
           {"looks-0123456789"},
           {"Basic looks-0123456789"},
           {"Bearer looks-0123456789", "Bearer looks-0123456789"}}) {
    const absl::Status refused = Call(kLook, kHere, said);
    EXPECT_EQ(refused.code(), absl::StatusCode::kUnauthenticated);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("'Bearer TOKEN'"));
  }
  const absl::Status unknown = Call(kLook, kHere, {"Bearer guessed-0123456789"});
  EXPECT_EQ(unknown.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(unknown.message()),
              AllOf(HasSubstr("does not know the token"), Not(HasSubstr("guessed"))));
}

TEST_F(AdmissionTest, TheRoleDecidesWhatATokenAllows) {
  UseTokens(ControlFrom::kAnywhere);
  EXPECT_TRUE(Call(kLook, kThere, {"Bearer looks-0123456789"}).ok());
  EXPECT_TRUE(Call(kLook, kThere, {"bearer changes-0123456789"}).ok());
  EXPECT_TRUE(Call(kChange, kThere, {"Bearer changes-0123456789"}).ok());
  const absl::Status refused = Call(kChange, kThere, {"Bearer looks-0123456789"});
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("needs a token of the role control"), Not(HasSubstr("looks"))));
}

TEST_F(AdmissionTest, ATokenDoesNotOpenWhatIsForThisMachineOnly) {
  UseTokens(ControlFrom::kLoopback);
  EXPECT_TRUE(Call(kChange, kHere, {"Bearer changes-0123456789"}).ok());
  EXPECT_EQ(Call(kChange, kThere, {"Bearer changes-0123456789"}).code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Call(kChange, kThere).code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(AdmissionTest, AMethodThatNobodyKnowsIsControl) {
  EXPECT_FALSE(OnlyViews("millrace.v1.StreamService/DeleteStream"));
  EXPECT_FALSE(OnlyViews(""));
  EXPECT_TRUE(OnlyViews(kLook));
}

}  // namespace
}  // namespace millrace::service
