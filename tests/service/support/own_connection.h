// A connection to a server of this machine that no other channel shares, nor its flow control.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/strings/str_cat.h"

namespace millrace::service {

inline std::shared_ptr<grpc::Channel> OwnConnection(
    int port, const std::shared_ptr<grpc::ChannelCredentials>& credentials =
                  grpc::InsecureChannelCredentials()) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port), credentials, arguments);
}

}  // namespace millrace::service
