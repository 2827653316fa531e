#include "service/commands/rank_door.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log_about.h"
#include "base/plural.h"
#include "base/status.h"
#include "pipeline/ranks/rendezvous.h"
#include "service/commands/rank_arguments.h"
#include "spdlog/spdlog.h"

namespace millrace::service {

RankDoor::RankDoor() = default;
RankDoor::~RankDoor() = default;

absl::Status RankDoor::Open(const RanksConfig& config, const std::string& listen) {
  if (listen.empty()) return absl::OkStatus();
  MILLRACE_ASSIGN_OR_RETURN(HostAndPort address, ParseHostAndPort(listen, "ranks.listen"));
  MILLRACE_ASSIGN_OR_RETURN(const std::string secret,
                            ReadRankSecret(config.secret_file, "ranks.secret_file"));
  absl::StatusOr<std::unique_ptr<pipeline::RankLeader>> leader = pipeline::RankLeader::Listen(
      {.host = address.host,
       .port = address.port,
       .secret = secret,
       .lost_after = std::chrono::milliseconds(std::llround(1000 * config.lost_after_s)),
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
  address_ = ToString(address);
  leader_ = *std::move(leader);
  return absl::OkStatus();
}

absl::Status RankDoor::TakeTurn(const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kPause{50};
  const MutexLock lock(mu_);
  const std::uint64_t ticket = ++last_ticket_;
  waiting_.insert(ticket);
  while (*waiting_.begin() != ticket) {
    if (stop.stop_requested()) {
      waiting_.erase(ticket);
      return absl::CancelledError("the stream is not wanted");
    }
    turn_.wait_for(mu_, kPause);
  }
  return absl::OkStatus();
}

void RankDoor::EndTurn() {
  const MutexLock lock(mu_);
  waiting_.erase(waiting_.begin());
  turn_.notify_all();
}

absl::StatusOr<std::unique_ptr<pipeline::RankGroup>> RankDoor::Gather(
    const std::string& stream, const pipeline::JoinRequest& request) {
  MILLRACE_CHECK(is_open());
  const LogAbout about(stream);
  spdlog::info("stream '{}': waiting for {}; on each run: millrace join {} --secret-file FILE",
               stream, Plural(request.size - 1, "other host"), address_);
  pipeline::JoinRequest turn = request;
  turn.patience = std::chrono::seconds(1);
  while (true) {
    MILLRACE_RETURN_IF_ERROR(TakeTurn(request.stop));
    const absl::Cleanup end_turn = [this] { EndTurn(); };
    auto group = leader_->Gather(turn);
    if (absl::IsDeadlineExceeded(group.status())) continue;
    if (group.ok()) {
      spdlog::info("stream '{}': its {} processes have joined, group {}", stream, request.size,
                   (*group)->epoch());
    } else if (absl::IsUnavailable(group.status())) {
      spdlog::warn("stream '{}': {}; waiting again", stream, std::string(group.status().message()));
    }
    return group;
  }
}

}  // namespace millrace::service
