// SPDX-License-Identifier: Apache-2.0

// Work that is recorded once and launched as a whole: a CUDA graph, which costs
// one launch however many kernels it has. On the CPU a launch does the work
// again.
#ifndef OCTET_BASE_GRAPH_H_
#define OCTET_BASE_GRAPH_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/stream.h"

namespace octet {

class Graph {
 public:
  // Records what `work` queues on `stream`, without running it. Run the work
  // once before: what it allocates on first use is not allowed here, and
  // FailedPrecondition says so; what it would measure on first use it does not,
  // and goes by a guess for as long as the graph lives
  // (float8/gemm_algorithms.h). `work` must queue the same whenever it is
  // called; all that it uses must outlive the graph, and the stream too. An
  // error of `work` is returned, and the stream is usable afterwards.
  //
  // On the CPU nothing is called here: errors of `work` come at Launch.
  static absl::StatusOr<Graph> Capture(const Stream& stream,
                                       std::function<absl::Status()> work);

  // Queues all of it on `stream`, on the device where it was captured. On the
  // CPU runs `work`, and returns its error.
  absl::Status Launch(const Stream& stream) const;

 private:
  Device device_;
  std::function<absl::Status()> work_;  // CPU
  std::shared_ptr<void> native_;        // GPU
};

}  // namespace octet

#endif  // OCTET_BASE_GRAPH_H_
