#include "service/commands/rank_door.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log_about.h"
#include "base/plural.h"
#include "base/status.h"
#include "pipeline/ranks/rendezvous.h"
#include "service/commands/rank_arguments.h"
#include "spdlog/spdlog.h"

namespace millrace::service {

RankDoor::RankDoor() = default;
RankDoor::~RankDoor() = default;

absl::Status RankDoor::Open(const RanksConfig& config) {
  if (config.listen.empty()) return absl::OkStatus();
  MILLRACE_ASSIGN_OR_RETURN(HostAndPort address, ParseHostAndPort(config.listen, "ranks.listen"));
  MILLRACE_ASSIGN_OR_RETURN(const std::string secret,
                            ReadRankSecret(config.secret_file, "ranks.secret_file"));
  absl::StatusOr<std::unique_ptr<pipeline::RankLeader>> leader = pipeline::RankLeader::Listen(
      {.host = address.host,
       .port = address.port,
       .secret = secret,
       .on_joined =
           [](const std::string& name, int missing) {
             spdlog::info("ranks: {} has joined, {} missing", name, missing);
           },
       .on_refused =
           [](const absl::Status& why) {
             spdlog::warn("ranks: not joined: {}", std::string(why.message()));
           }});
  if (!leader.ok()) {
    return absl::Status(leader.status().code(), absl::StrCat("ranks: ", leader.status().message()));
  }
  address.port = (*leader)->port();
  const MutexLock lock(mu_);
  address_ = ToString(address);
  leader_ = *std::move(leader);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<pipeline::RankGroup>> RankDoor::Gather(const std::string& stream,
                                                                      int size,
                                                                      const std::stop_token& stop) {
  const MutexLock lock(mu_);
  if (leader_ == nullptr) {
    return absl::FailedPreconditionError(
        "schedule.stages_on needs other hosts, and this server leads none: add the section `ranks` "
        "to its configuration");
  }
  const LogAbout about(stream);
  spdlog::info("stream '{}': waiting for {}; on each run: millrace join {} --secret-file FILE",
               stream, Plural(size - 1, "other host"), address_);
  return leader_->Gather(size, stop);
}

}  // namespace millrace::service
