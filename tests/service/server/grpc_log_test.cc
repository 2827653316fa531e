#include "service/server/grpc_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <memory>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/v1/stream_service.pb.h"
#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

class GrpcLogTest : public testing::Test {
 protected:
  GrpcLogTest() {
    const auto here = std::make_shared<spdlog::logger>(
        "here", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_));
    here->set_pattern("%l %v");
    spdlog::set_default_logger(here);
    gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
    LogGrpc();
  }
  ~GrpcLogTest() override {
    gpr_set_log_function(nullptr);
    google::protobuf::SetLogHandler(nullptr);
    spdlog::set_default_logger(before_);
  }

  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  std::ostringstream log_;
};

TEST_F(GrpcLogTest, PutsWhatGrpcSaysIntoTheLog) {
  gpr_log_message("src/core/server.cc", 12, GPR_LOG_SEVERITY_ERROR, "no address");
  EXPECT_EQ(log_.str(), "error gRPC: no address (server.cc:12)\n");
}

// It was an error of the server's, in OpenSSL's words, for each client that came by.
TEST_F(GrpcLogTest, AClientThatDoesNotGetOnWithTlsIsAWarningInWordsOfOurOwn) {
  const auto handshake = [](const std::string& reason) {
    const std::string said =
        "Handshake failed with fatal error SSL_ERROR_SSL: error:0A00010B:SSL routines::" + reason;
    gpr_log_message("tsi/ssl_transport_security.cc", 1501, GPR_LOG_SEVERITY_ERROR, said.c_str());
  };
  handshake("wrong version number.");
  handshake("peer did not return a certificate.");
  handshake("tlsv1 alert unknown ca.");
  handshake("something new.");
  EXPECT_EQ(log_.str(),
            "warning TLS: a client was refused: it does not speak TLS\n"
            "warning TLS: a client was refused: it shows no certificate, and listen.tls.client_ca "
            "wants one\n"
            "warning TLS: a client was refused: it does not trust listen.tls.certificate\n"
            "warning TLS: a client was refused: something new\n");
}

TEST_F(GrpcLogTest, AClientSaysNothingOfTlsBesideItsOwnError) {
  LogGrpc(GrpcSide::kClient);
  gpr_log_message("ssl.cc", 1, GPR_LOG_SEVERITY_ERROR,
                  "Handshake failed with fatal error SSL_ERROR_SSL: error:0A00010B");
  gpr_log_message("ssl.cc", 2, GPR_LOG_SEVERITY_ERROR, "No match found for server name: a.test.");
  EXPECT_EQ(log_.str(), "");
  gpr_log_message("server.cc", 12, GPR_LOG_SEVERITY_ERROR, "no address");
  EXPECT_EQ(log_.str(), "error gRPC: no address (server.cc:12)\n");
}

// A client that sends such bytes had protobuf write to standard error, without a limit.
TEST_F(GrpcLogTest, PutsWhatProtobufSaysIntoTheLog) {
  testing::internal::CaptureStderr();
  v1::GetStreamRequest request;
  EXPECT_FALSE(request.ParseFromString("\x0a\x02\xc3\x28"));  // No UTF-8.
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(log_.str(), testing::AllOf(testing::StartsWith("warning protobuf: "),
                                         testing::HasSubstr("invalid UTF-8")));
}

}  // namespace
}  // namespace millrace::service
