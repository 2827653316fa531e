#include "service/api/health_service.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace millrace::service {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using grpc::health::v1::HealthListRequest;
using grpc::health::v1::HealthListResponse;

}  // namespace

HealthService::HealthService(HealthStatuses& statuses) : statuses_(statuses) {
  statuses.Listen([this] { PumpAll(); });
}

HealthService::~HealthService() {
  MutexLock lock(mu_);
  while (!watches_.empty()) changed_.wait(mu_);
}

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* context,
                                               const grpc::ByteBuffer* request,
                                               grpc::ByteBuffer* response) {
  return guard_.Unary<HealthCheckRequest>({context, request, response}, "Check",
                                          [this](const auto& asked) { return StatusOf(asked); });
}

absl::StatusOr<HealthCheckResponse> HealthService::StatusOf(
    const HealthCheckRequest& request) const {
  HealthCheckResponse response;
  response.set_status(ServingStatusOf(statuses_, request.service()));
  if (response.status() != HealthCheckResponse::SERVICE_UNKNOWN) return response;
  return absl::NotFoundError(absl::StrCat("there is no service '", request.service(),
                                          "' here; List names those there are"));
}

grpc::ServerUnaryReactor* HealthService::List(grpc::CallbackServerContext* context,
                                              const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* response) {
  return guard_.Unary<HealthListRequest>({context, request, response}, "List",
                                         [this](const auto& /*asked*/) { return All(); });
}

absl::StatusOr<HealthListResponse> HealthService::All() const {
  const HealthStatuses::ByName all = statuses_.All();
  if (all.size() > kMaxListed) {
    return absl::ResourceExhaustedError(absl::StrCat("there are ", all.size(),
                                                     " services, and List tells of ", kMaxListed,
                                                     " at most; Check the services that you know"));
  }
  HealthListResponse response;
  for (const auto& [name, serving] : all) {
    (*response.mutable_statuses())[name].set_status(serving ? HealthCheckResponse::SERVING
                                                            : HealthCheckResponse::NOT_SERVING);
  }
  return response;
}

Guard::ServerStreamReactor* HealthService::Watch(grpc::CallbackServerContext* context,
                                                 const grpc::ByteBuffer* request) {
  return guard_.ServerStream<HealthCheckRequest>(
      *context, "Watch", *request,
      [this](const auto& asked) -> absl::StatusOr<Guard::ServerStreamReactor*> {
        const auto watch = std::make_shared<HealthWatch>(
            statuses_, HealthWatch::Options{.name = asked.service(),
                                            .ending = ending_,
                                            .done = [this](HealthWatch& done) { Remove(done); }});
        if (!Add(watch)) {
          return absl::ResourceExhaustedError(
              absl::StrCat(kMaxWatches, " clients watch already; try again later, or Check"));
        }
        watch->Pump();
        return watch.get();
      });
}

bool HealthService::Add(const Shared& watch) {
  MutexLock lock(mu_);
  if (watches_.size() >= kMaxWatches) return false;
  watches_.emplace(watch.get(), watch);
  return true;
}

void HealthService::EndWatches() {
  ending_ = true;
  PumpAll();
}

void HealthService::PumpAll() {
  std::vector<Shared> watches;
  {
    MutexLock lock(mu_);
    watches.reserve(watches_.size());
    for (const auto& [key, watch] : watches_) watches.push_back(watch);
  }
  for (const Shared& watch : watches) watch->Pump();
}

void HealthService::Remove(HealthWatch& watch) {
  Shared last;  // Destroyed after the lock is released.
  MutexLock lock(mu_);
  const auto found = watches_.find(&watch);
  last = std::move(found->second);
  watches_.erase(found);
  changed_.notify_all();
}

}  // namespace millrace::service
