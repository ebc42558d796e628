// SPDX-License-Identifier: Apache-2.0
#include "base/graph.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/device_runtime.h"
#include "base/status_macros.h"

namespace octet {

absl::StatusOr<Graph> Graph::Capture(const Stream& stream,
                                     std::function<absl::Status()> work) {
  Graph graph;
  graph.device_ = stream.device();
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(graph.device_.kind));
  if (runtime->begin_capture == nullptr) {
    graph.work_ = std::move(work);
    return graph;
  }
  const int index = graph.device_.index;
  OCTET_RETURN_IF_ERROR(runtime->begin_capture(index, stream.native()));
  const absl::Status status = work();
  const absl::StatusOr<void*> native =
      runtime->end_capture(index, stream.native());
  if (native.ok()) {
    graph.native_ = std::shared_ptr<void>(*native, [runtime, index](void* g) {
      runtime->destroy_graph(index, g);
    });
  }
  // The work's own error says more than that its capture is invalid.
  OCTET_RETURN_IF_ERROR(status);
  OCTET_RETURN_IF_ERROR(native.status());
  return graph;
}

absl::Status Graph::Launch(const Stream& stream) const {
  if (stream.device() != device_) {
    return absl::InvalidArgumentError(
        absl::StrCat("graph: captured on ", device_.ToString(),
                     ", the stream is on ", stream.device().ToString()));
  }
  if (work_ != nullptr) return work_();
  if (native_ == nullptr) {
    return absl::FailedPreconditionError("graph: not captured");
  }
  OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                         GetDeviceRuntime(device_.kind));
  return runtime->launch_graph(device_.index, stream.native(), native_.get());
}

}  // namespace octet
