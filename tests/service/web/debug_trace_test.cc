#include "service/web/debug_trace.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"
#include "tests/service/support/borrowed_streams.h"
#include "tests/service/support/web_fakes.h"

namespace millrace::service {
namespace {

using pipeline::OperationKind;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kHere[] = "127.0.0.1";

class DebugTraceTest : public ::testing::Test {
 protected:
  DebugTraceTest() {
    // Ten minutes ago, three seconds ago and just now.
    gate_.SetOperations({Took(0, {OperationKind::kForward, 1, 2, 2}, seconds(600), milliseconds(5)),
                         Took(0, {OperationKind::kForward, 1, 7, 7}, seconds(3), milliseconds(20)),
                         Took(1, {OperationKind::kUpdate, 2, 4, 7}, seconds(1), milliseconds(2))});
    yard_.SetOperations(
        {Took(0, {OperationKind::kBackward, 1, 9, 9}, milliseconds(3500), milliseconds(8))});
  }

  pipeline::PastOperation Took(std::size_t device, pipeline::Step step, nanoseconds ago,
                               nanoseconds time) const {
    return {device, step, clock_.Now() - ago, clock_.Now() - ago + time};
  }

  HttpResponse Ask(const std::string& query, const std::string& from = kHere) {
    return Dispatch({route_}, {.path = "/debug/trace", .query = query, .remote_address = from});
  }

  // What happened, a line an operation.
  std::vector<std::string> Operations(const std::string& query) {
    const HttpResponse response = Ask(query);
    EXPECT_EQ(response.status, 200) << response.body;
    std::map<int, std::string> processes;
    std::vector<std::string> lines;
    const auto trace = nlohmann::json::parse(response.body);
    for (const auto& event : trace) {
      if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
      if (event["ph"] != "X") continue;
      std::ostringstream line;
      line << processes[event["pid"]] << " " << std::string(event["name"]) << " at "
           << event["ts"].get<double>() << " for " << event["dur"].get<double>();
      lines.push_back(line.str());
    }
    return lines;
  }

  FakeClock clock_{std::chrono::hours(1)};
  FakeCameraStream gate_{"gate"};
  FakeCameraStream yard_{"yard"};
  StreamRecord gate_record_{clock_, clock_.Now()};
  StreamRecord yard_record_{clock_, clock_.Now()};
  BorrowedStreams streams_ = {{gate_, gate_record_}, {yard_, yard_record_}};
  HttpRoute route_ = DebugTraceRoute(streams_, clock_);
};

TEST_F(DebugTraceTest, ShowsTheLastSecondsOfAllStreamsOnOneTimeAxis) {
  EXPECT_THAT(Operations(""),
              ElementsAre("gate F1(7) at 500000 for 20000", "gate U2(4..7) at 2.5e+06 for 2000",
                          "yard B1(9) at 0 for 8000"));
  const auto trace = nlohmann::json::parse(Ask("").body);
  const auto update = std::find_if(trace.begin(), trace.end(),
                                   [](const auto& event) { return event["name"] == "U2(4..7)"; });
  EXPECT_EQ(update->at("cat"), "update");
  EXPECT_EQ(update->at("args"), (nlohmann::json{{"sample", 4}, {"samples", 4}, {"stage", 2}}));
}

TEST_F(DebugTraceTest, ShowsOneStreamAndAsManySecondsAsAreAsked) {
  EXPECT_THAT(Operations("stream=yard"), ElementsAre("yard B1(9) at 0 for 8000"));
  EXPECT_THAT(Operations("stream=gate&seconds=1.5"), ElementsAre("gate U2(4..7) at 0 for 2000"));
  EXPECT_THAT(Operations("stream=yard&seconds=1"), IsEmpty());
}

TEST_F(DebugTraceTest, IsAFileForAViewer) {
  const HttpResponse response = Ask("");
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(response.headers.front().second, "attachment; filename=\"millrace-trace.json\"");
}

TEST_F(DebugTraceTest, IsForTheServersOwnMachine) {
  for (const char* here : {"127.0.0.1", "127.3.2.1", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_EQ(Ask("", here).status, 200) << here;
  }
  for (const char* elsewhere : {"192.168.1.7", "10.0.0.1", "::ffff:10.0.0.1", "fe80::1", ""}) {
    const HttpResponse response = Ask("", elsewhere);
    EXPECT_EQ(response.status, 403) << elsewhere;
    EXPECT_THAT(response.body, HasSubstr("ask there, at 127.0.0.1"));
    EXPECT_THAT(response.body, ::testing::Not(HasSubstr("gate")));
  }
}

TEST_F(DebugTraceTest, SaysWhatIsWrong) {
  EXPECT_EQ(Ask("stream=door").status, 404);
  EXPECT_THAT(Ask("stream=door").body, AllOf(HasSubstr("door"), HasSubstr("'gate', 'yard'")));
  for (const char* time : {"soon", "0", "-1", "nan", "3601", ""}) {
    const HttpResponse response = Ask(std::string("seconds=") + time);
    EXPECT_EQ(response.status, 400) << time;
    EXPECT_THAT(response.body, HasSubstr("?seconds=2"));
  }
}

}  // namespace
}  // namespace millrace::service
