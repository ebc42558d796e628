// SPDX-License-Identifier: Apache-2.0

// A forward and backward pass with its communication beside it.
#ifndef OCTET_ROOFLINE_MODEL_TIMELINE_H_
#define OCTET_ROOFLINE_MODEL_TIMELINE_H_

#include <vector>

namespace octet::roofline {

// What is gathered, computed and reduced as one, in the order of forward.
struct TimelineUnit {
  double gather_seconds = 0;
  double reduce_seconds = 0;
  double forward_seconds = 0;
  double backward_seconds = 0;
  // Stays gathered between forward and backward.
  bool keeps_weights = false;
};

struct Timeline {
  double seconds = 0;
  double compute_seconds = 0;
  double communication_seconds = 0;
  // Of the time, what no computation covers.
  double exposed_seconds() const { return seconds - compute_seconds; }
};

// One computation and one transfer at a time. A unit is gathered while the one
// before it computes, not earlier: two units' weights exist at most. Gradients
// are reduced when they are there, after a gather that is ready by then.
Timeline RunTimeline(const std::vector<TimelineUnit>& units);

}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_MODEL_TIMELINE_H_
