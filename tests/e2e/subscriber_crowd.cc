// Many subscribers of one stream at once, each on its own connection, in one process that a test
// may kill.
//
//   millrace_subscriber_crowd ADDRESS quick|slow|frozen COUNT
//
// Prints "ready" when all subscriptions stand, and ends at the end of its input. A quick subscriber
// reads at once, a slow one once a second, a frozen one never.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "millrace/v1/prediction_service.grpc.pb.h"

namespace {

using millrace::v1::PredictionService;
using millrace::v1::SubscribeRequest;
using millrace::v1::SubscribeResponse;

enum class Kind { kQuick, kSlow, kFrozen };

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

/// One subscription. Destroyed once its call is over.
class Member final : public grpc::ClientReadReactor<SubscribeResponse> {
 public:
  Member(const std::string& address, Kind kind, std::atomic<int>& standing)
      : kind_(kind), standing_(standing), stub_(PredictionService::NewStub(Connect(address))) {
    stub_->async()->Subscribe(&context_, &request_, this);
    AddHold();
    if (kind_ == Kind::kQuick) StartRead(&response_);
    StartCall();
  }

  void OnReadInitialMetadataDone(bool ok) override {
    if (ok) ++standing_;
  }
  void OnReadDone(bool ok) override {
    if (ok && kind_ == Kind::kQuick) StartRead(&response_);
    reading_ = false;
  }
  void OnDone(const grpc::Status& /*status*/) override {
    const std::lock_guard lock(mu_);
    done_ = true;
    changed_.notify_all();
  }

  /// Of a slow one, now and then.
  void ReadOne() {
    if (!reading_.exchange(true)) StartRead(&response_);
  }

  /// Ends the call and waits for its end.
  void Leave() {
    context_.TryCancel();
    RemoveHold();
    std::unique_lock lock(mu_);
    changed_.wait(lock, [this] { return done_; });
  }

 private:
  const Kind kind_;
  std::atomic<int>& standing_;
  const std::unique_ptr<PredictionService::Stub> stub_;
  const SubscribeRequest request_;
  grpc::ClientContext context_;
  SubscribeResponse response_;
  std::atomic<bool> reading_ = false;
  std::mutex mu_;
  std::condition_variable changed_;
  bool done_ = false;
};

int Run(const std::string& address, Kind kind, int count) {
  std::atomic<int> standing = 0;
  std::vector<std::unique_ptr<Member>> members;
  for (int i = 0; i < count; ++i) {
    members.push_back(std::make_unique<Member>(address, kind, standing));
  }
  while (standing < count) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::cout << "ready" << std::endl;
  std::atomic<bool> ended = false;
  std::jthread input([&ended] {
    while (std::cin.get() != EOF) {
    }
    ended = true;
  });
  while (!ended) {
    if (kind == Kind::kSlow) {
      for (const auto& member : members) member->ReadOne();
    }
    for (int i = 0; i < 10 && !ended; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  for (const auto& member : members) member->Leave();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc == 4 ? argv[2] : "";
  const int count = argc == 4 ? std::atoi(argv[3]) : 0;
  if (count < 1 || (kind != "quick" && kind != "slow" && kind != "frozen")) {
    std::cerr << "usage: millrace_subscriber_crowd ADDRESS quick|slow|frozen COUNT\n";
    return 2;
  }
  return Run(argv[1],
             kind == "quick"  ? Kind::kQuick
             : kind == "slow" ? Kind::kSlow
                              : Kind::kFrozen,
             count);
}
