// Calls of methods by their names, and the server's description of itself by reflection.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace millrace::service {

/// Sends `request` to `method`, "package.Service/Method", and waits for the outcome. On the wire, a
/// stream of one message each way is a plain call.
inline grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel,
                            const std::string& method, grpc::ClientContext& context,
                            const std::string& request = "", std::string* response = nullptr) {
  const grpc::Slice slice(request);
  const grpc::ByteBuffer request_bytes(&slice, 1);
  grpc::ByteBuffer response_bytes;
  std::promise<grpc::Status> done;
  grpc::GenericStub(channel).UnaryCall(
      &context, absl::StrCat("/", method), {}, &request_bytes, &response_bytes,
      [&done](const grpc::Status& status) { done.set_value(status); });
  grpc::Status status = done.get_future().get();
  grpc::Slice said;
  if (status.ok() && response != nullptr && response_bytes.DumpToSingleSlice(&said).ok()) {
    response->assign(reinterpret_cast<const char*>(said.begin()), said.size());
  }
  return status;
}

/// An empty message of a type that some linked library knows.
inline std::unique_ptr<google::protobuf::Message> NewMessage(const std::string& type) {
  const auto* const descriptor =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(type);
  return std::unique_ptr<google::protobuf::Message>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(descriptor)->New());
}

/// The full names of the services that the server offers. gRPC's reflection library holds the
/// messages but ships no header of them, and would not share a process with code of our own for the
/// same. So they are made by name.
inline std::vector<std::string> ListServices(const std::shared_ptr<grpc::Channel>& channel) {
  const std::string package = "grpc.reflection.v1alpha.";
  const auto request = NewMessage(package + "ServerReflectionRequest");
  google::protobuf::TextFormat::ParseFromString("list_services: ''", request.get());
  grpc::ClientContext context;
  std::string bytes;
  const grpc::Status status = CallRaw(channel, package + "ServerReflection/ServerReflectionInfo",
                                      context, request->SerializeAsString(), &bytes);
  EXPECT_TRUE(status.ok()) << status.error_message();
  const auto response = NewMessage(package + "ServerReflectionResponse");
  EXPECT_TRUE(response->ParseFromString(bytes));
  const auto& list = response->GetReflection()->GetMessage(
      *response, response->GetDescriptor()->FindFieldByName("list_services_response"));
  const auto* const services = list.GetDescriptor()->FindFieldByName("service");
  std::vector<std::string> names;
  for (int i = 0; i < list.GetReflection()->FieldSize(list, services); ++i) {
    const auto& service = list.GetReflection()->GetRepeatedMessage(list, services, i);
    names.push_back(service.GetReflection()->GetString(
        service, service.GetDescriptor()->FindFieldByName("name")));
  }
  return names;
}

/// Of the services that the server offers whose names begin so: those of the API, and not of health
/// checks and reflection, unless it is said otherwise.
inline std::vector<const google::protobuf::MethodDescriptor*> ListMethods(
    const std::shared_ptr<grpc::Channel>& channel,
    const std::vector<std::string>& begin = {"millrace.", "inference."}) {
  std::vector<const google::protobuf::MethodDescriptor*> methods;
  const auto* const pool = google::protobuf::DescriptorPool::generated_pool();
  for (const std::string& name : ListServices(channel)) {
    const auto begins_so = [&](const std::string& with) { return absl::StartsWith(name, with); };
    if (std::none_of(begin.begin(), begin.end(), begins_so)) continue;
    const auto* const service = pool->FindServiceByName(name);
    for (int i = 0; i < service->method_count(); ++i) methods.push_back(service->method(i));
  }
  return methods;
}

/// "package.Service/Method".
inline std::string NameOf(const google::protobuf::MethodDescriptor& method) {
  return absl::StrCat(method.service()->full_name(), "/", method.name());
}

/// Waits for the first of `calls` that ends, and returns how it does.
inline grpc::Status FirstToEnd(std::vector<std::future<grpc::Status>>& calls) {
  for (;; std::this_thread::yield()) {
    for (std::future<grpc::Status>& call : calls) {
      if (call.wait_for(std::chrono::seconds(0)) == std::future_status::ready) return call.get();
    }
  }
}

}  // namespace millrace::service
