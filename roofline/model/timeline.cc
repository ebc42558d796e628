// SPDX-License-Identifier: Apache-2.0

#include "roofline/model/timeline.h"

#include <algorithm>
#include <cstdint>

namespace octet::roofline {

Timeline RunTimeline(const std::vector<TimelineUnit>& units) {
  Timeline out;
  double link = 0.0;     // when the link is free
  double compute = 0.0;  // when the last computation ends
  double start = 0.0;    // when it began
  const auto gather = [&](double seconds) {
    link = std::max(link, start) + seconds;
    out.communication_seconds += seconds;
    return link;
  };
  const auto run = [&](double ready, double seconds) {
    start = std::max(compute, ready);
    compute = start + seconds;
    out.compute_seconds += seconds;
  };
  for (const TimelineUnit& unit : units) {
    run(gather(unit.gather_seconds), unit.forward_seconds);
  }
  // Gradients of the unit before, which wait for the next gather.
  double pending = 0.0, pending_ready = 0.0;
  const auto reduce = [&] {
    link = std::max(link, pending_ready) + pending;
    out.communication_seconds += pending;
    pending = 0.0;
  };
  for (size_t i = units.size(); i-- > 0;) {
    const TimelineUnit& unit = units[i];
    // The last unit of forward is still there.
    const bool there = unit.keeps_weights || i + 1 == units.size();
    const double ready = there ? 0.0 : gather(unit.gather_seconds);
    if (pending > 0.0) reduce();
    run(ready, unit.backward_seconds);
    pending = unit.reduce_seconds;
    pending_ready = compute;
  }
  if (pending > 0.0) reduce();
  out.seconds = std::max(compute, link);
  return out;
}

}  // namespace octet::roofline
