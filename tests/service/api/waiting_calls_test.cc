// Calls that change something while they wait for the changes before.
#include <chrono>
#include <future>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "millrace/v1/stream_service.pb.h"
#include "pipeline/checkpoint/checkpoint_folders.h"
#include "service/config/config_entry.h"
#include "tests/base/temporary_folder.h"
#include "tests/service/support/busy_control.h"
#include "tests/service/support/checkpoint_on_disk.h"
#include "tests/service/support/grpc_fixture.h"
#include "tests/service/support/raw_calls.h"

namespace millrace::service {
namespace {

/// A method, and a request that changes something.
struct Change {
  const char* name;
  const char* service;
  const char* request;
};

constexpr char kAnew[] = R"(config { fields { key: "name" value { string_value: "anew" } }
    fields { key: "source" value { struct_value { fields {
      key: "uri" value { string_value: "test:" } } } } } })";
constexpr char kOtherSource[] = R"(stream: "gate" config {
    fields { key: "source" value { struct_value { fields {
      key: "uri" value { string_value: "test:" } } } } } })";
constexpr char kGate[] = R"(stream: "gate")";
constexpr char kCheckpoint[] = R"(stream: "gate" name: "checkpoint-000000000099")";

constexpr Change kChanges[] = {{"CreateStream", "StreamService", kAnew},
                               {"UpdateStream", "StreamService", kOtherSource},
                               {"DeleteStream", "StreamService", kGate},
                               {"ResetLearner", "LearnerService", kGate},
                               {"RestoreCheckpoint", "CheckpointService", kCheckpoint},
                               {"DeleteCheckpoint", "CheckpointService", kCheckpoint}};

class WaitingCallTest : public GrpcFixture, public testing::WithParamInterface<Change> {
 protected:
  /// Makes a stream "gate" with a checkpoint, and no stream "anew". Returns Now().
  std::string Prepare() {
    for (const char* name : {"gate", "anew"}) {
      if (streams_.Find(name).ok()) MILLRACE_CHECK(changes_.Delete({.name = name}).ok());
    }
    WriteCheckpoint(temporary_.path(), 99);
    auto gate = ParseStreamEntry(R"({"name":"gate","source":{"uri":"rtsp://c/1"}})", "config", {});
    MILLRACE_CHECK(gate.ok());
    gate->learner.checkpoints.folder = temporary_.path();
    MILLRACE_CHECK(changes_.Create(*gate).ok());
    return Now();
  }

  /// All of these streams that a change would change.
  std::string Now() {
    std::string now;
    for (const SharedStream& served : streams_.All()) {
      const StreamSnapshot snapshot = served->stream->Snapshot();
      absl::StrAppend(&now, snapshot.name, " ", snapshot.uri, " ", served->run_id, "\n");
    }
    return absl::StrCat(now, pipeline::ListCheckpoints(temporary_.path()).size());
  }

  static std::string Changed() {
    return GetParam().name == std::string_view("CreateStream") ? "anew" : "gate";
  }

  grpc::Status Call(grpc::ClientContext& context) {
    const std::string service = absl::StrCat("millrace.v1.", GetParam().service);
    const auto request = NewMessage(absl::StrCat("millrace.v1.", GetParam().name, "Request"));
    MILLRACE_CHECK(
        google::protobuf::TextFormat::ParseFromString(GetParam().request, request.get()));
    return CallRaw(channel_, absl::StrCat(service, "/", GetParam().name), context,
                   request->SerializeAsString());
  }

  /// Calls that wait for nothing, one after the other.
  void ListStreams(int times) {
    for (int i = 0; i < times; ++i) {
      grpc::ClientContext context;
      EXPECT_TRUE(CallRaw(channel_, "millrace.v1.StreamService/ListStreams", context).ok());
    }
  }

  /// A client's end may reach the server after the turn of its call. Then the server serves it
  /// without a client. So the test tries `wait_in_vain` again, each time with more time for the
  /// end.
  template <typename WaitInVain>
  void ExpectNoChange(const WaitInVain& wait_in_vain) {
    constexpr int kMaxCalls = 4096;
    for (int calls = 4; calls <= kMaxCalls; calls *= 4) {
      const std::string before = Prepare();
      {
        const HeldChange held(changes_, Changed());
        wait_in_vain();
        ListStreams(calls);
      }
      AwaitChanges(Changed());
      if (Now() == before) return;
    }
    ADD_FAILURE() << "it is made though nobody waits for it any more";
  }

  const TemporaryFolder temporary_;
};

TEST_P(WaitingCallTest, ChangesSomethingWhenItsTurnComes) {
  const std::string before = Prepare();
  grpc::ClientContext context;
  const grpc::Status status = Call(context);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_NE(Now(), before);
}

TEST_P(WaitingCallTest, ChangesNothingWhereItIsCancelled) {
  ExpectNoChange([this] {
    grpc::ClientContext context;
    auto status = std::async(std::launch::async, [&] { return Call(context); });
    ListStreams(4);  // It waits by then.
    context.TryCancel();
    EXPECT_EQ(status.get().error_code(), grpc::StatusCode::CANCELLED);
  });
}

TEST_P(WaitingCallTest, ChangesNothingWhereItsDeadlinePasses) {
  ExpectNoChange([this] {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
    EXPECT_EQ(Call(context).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  });
}

INSTANTIATE_TEST_SUITE_P(Changes, WaitingCallTest, testing::ValuesIn(kChanges),
                         [](const auto& change) { return std::string(change.param.name); });

}  // namespace
}  // namespace millrace::service
