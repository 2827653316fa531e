#include "service/api/health_service.h"

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace millrace::service {
namespace {

using ::grpc::health::v1::Health;
using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;
using ::grpc::health::v1::HealthListResponse;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr auto kServing = HealthCheckResponse::SERVING;
constexpr auto kNotServing = HealthCheckResponse::NOT_SERVING;

class HealthServiceTest : public ::testing::Test {
 protected:
  /// A client's Watch, read one message at a time.
  class Watcher {
   public:
    Watcher(Health::Stub& stub, const std::string& service) {
      HealthCheckRequest request;
      request.set_service(service);
      reader_ = stub.Watch(&context_, request);
    }

    /// The next status; UNKNOWN once the call has ended.
    HealthCheckResponse::ServingStatus Next() {
      HealthCheckResponse response;
      return reader_->Read(&response) ? response.status() : HealthCheckResponse::UNKNOWN;
    }

    grpc::Status Cancel() {
      context_.TryCancel();
      return Finish();
    }

    grpc::Status Finish() {
      while (Next() != HealthCheckResponse::UNKNOWN) {
      }
      return reader_->Finish();
    }

   private:
    grpc::ClientContext context_;
    std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> reader_;
  };

  HealthServiceTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    stub_ = Health::NewStub(server_->InProcessChannel({}));
    statuses_.Set("", true);
    statuses_.Set("street", false);
  }

  grpc::Status Check(const std::string& service, HealthCheckResponse& response) {
    grpc::ClientContext context;
    HealthCheckRequest request;
    request.set_service(service);
    return stub_->Check(&context, request, &response);
  }

  grpc::Status List(HealthListResponse& response) {
    grpc::ClientContext context;
    return stub_->List(&context, {}, &response);
  }

  HealthStatuses statuses_;
  HealthService service_{statuses_};
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Health::Stub> stub_;
};

TEST_F(HealthServiceTest, CheckTellsTheStatus) {
  HealthCheckResponse response;
  EXPECT_TRUE(Check("", response).ok());
  EXPECT_EQ(response.status(), kServing);
  EXPECT_TRUE(Check("street", response).ok());
  EXPECT_EQ(response.status(), kNotServing);
}

TEST_F(HealthServiceTest, CheckOfAnUnknownServiceIsNotFoundAndNamesIt) {
  HealthCheckResponse response;
  const grpc::Status status = Check("gate", response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("'gate'"));
}

TEST_F(HealthServiceTest, ListTellsAll) {
  HealthListResponse response;
  ASSERT_TRUE(List(response).ok());
  std::map<std::string, int> statuses;
  for (const auto& [name, status] : response.statuses()) statuses[name] = status.status();
  EXPECT_THAT(statuses, UnorderedElementsAre(Pair("", kServing), Pair("street", kNotServing)));
}

TEST_F(HealthServiceTest, ListOfMoreThanAHundredIsRefused) {
  for (int i = 2; i < 100; ++i) statuses_.Set(absl::StrCat(i), true);
  HealthListResponse response;
  EXPECT_TRUE(List(response).ok());
  statuses_.Set("one more", true);
  EXPECT_EQ(List(response).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(HealthServiceTest, WatchTellsTheStatusAtOnceAndEachChange) {
  Watcher street(*stub_, "street");
  EXPECT_EQ(street.Next(), kNotServing);
  statuses_.Set("street", true);
  EXPECT_EQ(street.Next(), kServing);
  statuses_.Set("another", true);  // Which says nothing of the street.
  statuses_.Drain();
  EXPECT_EQ(street.Next(), kNotServing);
  EXPECT_EQ(street.Cancel().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(HealthServiceTest, WatchOfAnUnknownServiceStaysUntilItIsKnown) {
  Watcher gate(*stub_, "gate");
  EXPECT_EQ(gate.Next(), HealthCheckResponse::SERVICE_UNKNOWN);
  statuses_.Set("gate", true);
  EXPECT_EQ(gate.Next(), kServing);
  EXPECT_EQ(gate.Cancel().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(HealthServiceTest, TooManyWatchersAreRefusedAndOneThatLeavesMakesRoom) {
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (std::size_t i = 0; i < HealthService::kMaxWatches; ++i) {
    watchers.push_back(std::make_unique<Watcher>(*stub_, ""));
    ASSERT_EQ(watchers.back()->Next(), kServing);
  }
  Watcher refused(*stub_, "");
  EXPECT_EQ(refused.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  watchers.back()->Cancel().error_code();
  watchers.pop_back();
  while (true) {  // The server hears of it a little later.
    Watcher next(*stub_, "");
    const bool watches = next.Next() == kServing;
    next.Cancel().error_code();
    if (watches) break;
  }
  for (const auto& watcher : watchers) watcher->Cancel().error_code();
}

TEST_F(HealthServiceTest, EndedWatchesKnowTheLastStatus) {
  Watcher all(*stub_, "");
  EXPECT_EQ(all.Next(), kServing);
  statuses_.Drain();
  service_.EndWatches();
  EXPECT_EQ(all.Next(), kNotServing);
  EXPECT_EQ(all.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace millrace::service
