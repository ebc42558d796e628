// SPDX-License-Identifier: Apache-2.0

// Seconds of collectives between GPUs.
//
// Rings: of `bytes` in all, each of R ranks sends and receives (R - 1) / R. On
// more than one node the GPUs with the same place in their nodes form rings
// over the network and the GPUs of a node rings over NVLink; both work at the
// same time on different pieces, so the slower one sets the pace, and the
// hops of both are waited for once. An all-reduce may take trees between nodes
// where a ring has too many hops.
#ifndef OCTET_ROOFLINE_MODEL_COLLECTIVE_H_
#define OCTET_ROOFLINE_MODEL_COLLECTIVE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "roofline/hardware.h"

namespace octet::roofline {

// Ranks of one collective: so many in each node, in so many nodes.
struct Group {
  int64_t per_node = 1;
  int64_t nodes = 1;
  int64_t ranks() const { return per_node * nodes; }
};

// As few nodes as hold them, alike: 12 ranks on nodes of 8 are 6 in each of 2,
// and 9 count as 5 in each of 2.
Group NeighbourGroup(const Hardware& hardware, int64_t ranks);
// Of `ranks` GPUs, those `stride` apart.
Group StridedGroup(const Hardware& hardware, int64_t ranks, int64_t stride);

// `bytes` is the whole tensor. 0 for a group of one. InvalidArgument if the
// hardware has no link that is needed.
absl::StatusOr<double> AllGatherSeconds(const Hardware& hardware,
                                        const Group& group, double bytes);
// The same traffic the other way.
absl::StatusOr<double> ReduceScatterSeconds(const Hardware& hardware,
                                            const Group& group, double bytes);
absl::StatusOr<double> AllReduceSeconds(const Hardware& hardware,
                                        const Group& group, double bytes);

}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_MODEL_COLLECTIVE_H_
