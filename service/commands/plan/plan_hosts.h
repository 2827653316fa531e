// A plan whose stages run on several hosts: what crosses their links, and how long that takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "pipeline/planner/host_traffic.h"
#include "service/commands/plan/plan_cut.h"
#include "service/commands/plan/plan_request.h"

namespace millrace::service {

struct PlanReport;

/// The hosts of a plan.
struct PlannedHosts {
  std::vector<int> host_of_stage;
  std::vector<pipeline::HostTransfer> transfers;
  /// By host.
  std::vector<pipeline::HostLoad> loads;
  /// nullopt: the link's rate is not known, so transfers take no time.
  std::optional<pipeline::HostLink> link = {};
};

/// The busier direction of the busiest host's link.
struct BusiestLink {
  int host = 0;
  bool receives = false;
  double bytes = 0;
  double ms = 0;
};

/// The busiest link by bytes; its time is 0 if the link's rate is not known.
[[nodiscard]] BusiestLink BusiestLinkOf(const PlannedHosts& hosts);

/// Sets the hosts of `report`, and changes its plan and costs to those over the hosts. Fails as
/// CheckRanks(). REQUIRES: `report` has the plan and the costs of `cut`, and `request` names hosts.
[[nodiscard]] absl::Status PlaceOnHosts(const pipeline::NetworkProfile& network,
                                        const PlanRequest& request, const PlanCut& cut,
                                        PlanReport& report);

/// The min period, in milliseconds, because hosts share their links, which steady_state.h does not
/// know. 0 without links. REQUIRES: PlaceOnHosts(), if `request` names hosts.
[[nodiscard]] double MinPeriodOverHosts(const PlanRequest& request, const PlanReport& report);

/// One line for each transfer, and below them the load of each host's link.
[[nodiscard]] std::string HostsText(const PlannedHosts& hosts);

}  // namespace millrace::service
