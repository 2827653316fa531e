#include "service/rpc/unknown_calls.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/service/support/raw_calls.h"

namespace millrace::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string WhyNot(const std::string& method) {
  return WhyUnknown("inference.GRPCInferenceService/" + method);
}

TEST(UnknownCallsTest, AMethodOfTritonNamesTheMethodToCallInstead) {
  EXPECT_THAT(WhyNot("ModelConfig"),
              AllOf(StartsWith("there is no method inference.GRPCInferenceService/ModelConfig; "),
                    HasSubstr("ModelMetadata"), HasSubstr("GetStream")));
  EXPECT_THAT(WhyNot("ModelStatistics"), HasSubstr("GetStream"));
  EXPECT_THAT(WhyNot("RepositoryIndex"), HasSubstr("ListStreams"));
  EXPECT_THAT(WhyNot("RepositoryModelLoad"), HasSubstr("CreateStream"));
  EXPECT_THAT(WhyNot("RepositoryModelUnload"), HasSubstr("DeleteStream"));
  EXPECT_THAT(WhyNot("SystemSharedMemoryRegister"), HasSubstr("in the request"));
  EXPECT_THAT(WhyNot("CudaSharedMemoryStatus"), HasSubstr("in the request"));
}

TEST(UnknownCallsTest, AnotherMethodNamesTheWayToFindThoseThatThereAre) {
  EXPECT_THAT(WhyNot("TraceSetting"), HasSubstr("ModelStreamInfer"));
  EXPECT_THAT(WhyUnknown("millrace.v1.StreamService/Fly"), HasSubstr("reflection"));
}

TEST(UnknownCallsTest, ALongNameIsCut) {
  EXPECT_LT(WhyUnknown(std::string(100'000, 'x')).size(), 400u);
}

TEST(UnknownCallsTest, TheClientIsTold) {
  UnknownCalls unknown;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&unknown);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  grpc::ClientContext context;
  const grpc::Status status = CallRaw(
      grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials()),
      "millrace.v1.StreamService/Fly", context);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(status.error_message(), WhyUnknown("millrace.v1.StreamService/Fly"));
}

}  // namespace
}  // namespace millrace::service
