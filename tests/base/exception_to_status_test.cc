#include "base/exception_to_status.h"

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/statusor.h"

namespace millrace {
namespace {

TEST(ExceptionToStatusTest, ReturnsTheResultOfTheCall) {
  EXPECT_EQ(ExceptionToStatus([] { return absl::NotFoundError("none"); }),
            absl::NotFoundError("none"));
  EXPECT_EQ(*ExceptionToStatus([]() -> absl::StatusOr<int> { return 7; }), 7);
  EXPECT_EQ(ExceptionToStatus([] {}), absl::OkStatus());
}

TEST(ExceptionToStatusTest, AnExceptionIsAnInternalErrorWithItsText) {
  const auto call = []() -> absl::StatusOr<int> { throw std::runtime_error("out of memory"); };
  EXPECT_EQ(ExceptionToStatus(call).status(), absl::InternalError("out of memory"));
  EXPECT_EQ(ExceptionToStatus(call, "the learner threw: ").status(),
            absl::InternalError("the learner threw: out of memory"));
}

TEST(ExceptionToStatusTest, TheCallerMayConvertTheText) {
  const auto unavailable = [](std::string_view text) {
    return absl::UnavailableError(std::string(text));
  };
  EXPECT_EQ(ExceptionToStatus([] { throw std::runtime_error("busy"); }, unavailable),
            absl::UnavailableError("busy"));
}

TEST(ExceptionToStatusTest, AnythingElseThatIsThrownIsAnErrorToo) {
  EXPECT_THAT(std::string(ExceptionToStatus([] { throw 7; }, "stopped: ").message()),
              testing::HasSubstr("stopped: it threw something that is no std::exception"));
}

}  // namespace
}  // namespace millrace
