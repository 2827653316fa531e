#include "service/grpc_log.h"

#include <grpc/support/log.h>

#include <memory>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

TEST(GrpcLogTest, PutsWhatGrpcSaysIntoTheLog) {
  std::ostringstream log;
  const auto before = spdlog::default_logger();
  const auto here = std::make_shared<spdlog::logger>(
      "here", std::make_shared<spdlog::sinks::ostream_sink_mt>(log));
  here->set_pattern("%l %v");
  spdlog::set_default_logger(here);
  LogGrpc();
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  gpr_log_message("src/core/server.cc", 12, GPR_LOG_SEVERITY_ERROR, "no address");
  gpr_set_log_function(nullptr);
  spdlog::set_default_logger(before);
  EXPECT_EQ(log.str(), "error gRPC: no address (server.cc:12)\n");
}

}  // namespace
}  // namespace millrace::service
