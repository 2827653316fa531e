#include "service/commands/plan/plan_hosts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "pipeline/plan/plan_part.h"
#include "service/commands/plan/link_rate.h"
#include "service/commands/plan/plan_report.h"
#include "service/terminal/text_table.h"

namespace millrace::service {
namespace {

using pipeline::HostLoad;
using pipeline::HostTransfer;

// The busier direction of one host's link.
BusiestLink LinkOf(const PlannedHosts& hosts, int host) {
  const HostLoad& load = hosts.loads[host];
  const bool receives = load.received_bytes > load.sent_bytes;
  const double bytes = receives ? load.received_bytes : load.sent_bytes;
  return {.host = host,
          .receives = receives,
          .bytes = bytes,
          .ms = hosts.link ? hosts.link->MsFor(bytes) : 0};
}

std::string TransfersText(const PlannedHosts& hosts) {
  std::vector<std::string> heads = {"from", "to", "a sample", "bytes"};
  if (hosts.link) {
    heads.push_back(absl::StrCat("ms at ", LinkRateText(hosts.link->bytes_per_s)));
  }
  TextTable table(heads);
  const double largest = std::ranges::max(hosts.transfers, {}, &HostTransfer::bytes).bytes;
  for (const HostTransfer& transfer : hosts.transfers) {
    std::vector<std::string> cells = {
        absl::StrCat("host ", transfer.from), absl::StrCat("host ", transfer.to),
        std::string(Name(transfer.kind)), BytesText(transfer.bytes, largest)};
    if (hosts.link) cells.push_back(NumberText(hosts.link->MsFor(transfer.bytes)));
    table.Add(std::move(cells));
  }
  return table.Text();
}

}  // namespace

BusiestLink BusiestLinkOf(const PlannedHosts& hosts) {
  BusiestLink busiest;
  for (int host = 0; host < static_cast<int>(hosts.loads.size()); ++host) {
    const BusiestLink link = LinkOf(hosts, host);
    if (link.bytes > busiest.bytes) busiest = link;
  }
  return busiest;
}

absl::Status PlaceOnHosts(const pipeline::NetworkProfile& network, const PlanRequest& request,
                          const PlanCut& cut, PlanReport& report) {
  const pipeline::HostPlacement& placement = request.hosts;
  MILLRACE_RETURN_IF_ERROR(CheckRanks(report.plan, placement.host_of_stage));
  PlannedHosts hosts{.host_of_stage = placement.host_of_stage,
                     .transfers = TransfersOf(network, cut.cuts, report.plan, placement),
                     .loads = {},
                     .link = request.link};
  hosts.loads = LoadsOf(hosts.transfers, placement.host_of_stage.front() + 1);
  if (hosts.link) {
    report.costs = CostsOverHosts(std::move(report.costs), placement, hosts.transfers, *hosts.link);
  }
  report.plan = PlanOverHosts(report.plan, placement.host_of_stage);
  report.hosts = std::move(hosts);
  return absl::OkStatus();
}

double MinPeriodOverHosts(const PlanRequest& request, const PlanReport& report) {
  if (!report.hosts || !request.link) return 0;
  return BusiestLinkOf(*report.hosts).ms;
}

std::string HostsText(const PlannedHosts& hosts) {
  if (hosts.transfers.empty()) return "";
  std::string text = TransfersText(hosts);
  if (!hosts.link) return text;
  std::vector<std::string> links;
  for (int host = 0; host < static_cast<int>(hosts.loads.size()); ++host) {
    const BusiestLink link = LinkOf(hosts, host);
    links.push_back(absl::StrCat("host ", host, link.receives ? " receives for " : " sends for ",
                                 NumberText(link.ms), " ms"));
  }
  return absl::StrCat(text, "each sample, ", absl::StrJoin(links, ", "), "\n");
}

}  // namespace millrace::service
