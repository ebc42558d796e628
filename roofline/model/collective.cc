// SPDX-License-Identifier: Apache-2.0

#include "roofline/model/collective.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/shape.h"
#include "base/status_macros.h"

namespace octet::roofline {
namespace {

// One hop of a ring or a tree, and the start of a collective: what NCCL's own
// model takes (src/graph/tuning.cc: hops of its protocol LL128, the start of
// Simple).
constexpr double kNvlinkHop = 1.9e-6;
constexpr double kNetworkHop = 4.0e-6;
constexpr double kTreeHop = 8.5e-6;
constexpr double kStart = 8.4e-6;

// Of the rings: without waits for hops.
absl::StatusOr<double> RingSeconds(const Hardware& hardware, const Group& group,
                                   double bytes) {
  const auto share = [](int64_t n) {
    return static_cast<double>(n - 1) / static_cast<double>(n);
  };
  double inside = 0.0, between = 0.0;
  if (group.per_node > 1) {
    if (!(hardware.nvlink_rate > 0.0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          hardware.name, " has no nvlink_gigabytes_per_second, and ",
          group.per_node, " ranks share a node"));
    }
    inside = share(group.per_node) * bytes /
             (hardware.nvlink_rate * hardware.link_share);
  }
  if (group.nodes > 1) {
    if (!(hardware.network_rate > 0.0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          hardware.name, " has no network_gigabytes_per_second, and there are ",
          group.nodes, " nodes"));
    }
    between = share(group.nodes) * bytes / static_cast<double>(group.per_node) /
              (hardware.network_rate * hardware.link_share);
  }
  return std::max(inside, between);
}

double InsideHops(const Group& group) {
  return static_cast<double>(group.per_node - 1) * kNvlinkHop;
}
double NetworkHops(const Group& group) {
  return static_cast<double>(group.nodes - 1) * kNetworkHop;
}

}  // namespace

Group NeighbourGroup(const Hardware& hardware, int64_t ranks) {
  const int64_t node = std::max(hardware.gpus_per_node, 1);
  Group group;
  group.nodes = CeilDiv(ranks, node);
  group.per_node = CeilDiv(ranks, group.nodes);
  return group;
}

Group StridedGroup(const Hardware& hardware, int64_t ranks, int64_t stride) {
  const int64_t node = std::max(hardware.gpus_per_node, 1);
  const int64_t members = std::max<int64_t>(ranks / stride, 1);
  Group group;
  group.per_node = std::clamp<int64_t>(node / stride, 1, members);
  group.nodes = CeilDiv(members, group.per_node);
  return group;
}

absl::StatusOr<double> AllGatherSeconds(const Hardware& hardware,
                                        const Group& group, double bytes) {
  if (group.ranks() <= 1) return 0.0;
  OCTET_ASSIGN_OR_RETURN(const double seconds,
                         RingSeconds(hardware, group, bytes));
  return seconds + InsideHops(group) + NetworkHops(group) + kStart;
}

absl::StatusOr<double> ReduceScatterSeconds(const Hardware& hardware,
                                            const Group& group, double bytes) {
  return AllGatherSeconds(hardware, group, bytes);
}

absl::StatusOr<double> AllReduceSeconds(const Hardware& hardware,
                                        const Group& group, double bytes) {
  if (group.ranks() <= 1) return 0.0;
  OCTET_ASSIGN_OR_RETURN(const double seconds,
                         RingSeconds(hardware, group, bytes));
  const double levels = std::ceil(std::log2(static_cast<double>(group.nodes)));
  const double network = std::min(NetworkHops(group), levels * kTreeHop);
  return 2.0 * (seconds + InsideHops(group) + network) + kStart;
}

}  // namespace octet::roofline
