// SPDX-License-Identifier: Apache-2.0
#include "base/cuda_requirement.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace octet {
namespace {

std::string VersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

}  // namespace

absl::Status DriverRequirement(int driver, int runtime, absl::string_view what,
                               absl::string_view otherwise) {
  if (driver == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, ": this machine has no NVIDIA driver"));
  }
  // Within a major version, an older driver runs what a newer toolkit built.
  const int needed = runtime / 1000 * 1000;
  if (driver < needed) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, ": the NVIDIA driver is too old: it is for CUDA ",
                     VersionText(driver), ", this program, built with CUDA ",
                     VersionText(runtime), ", needs one for CUDA ",
                     VersionText(needed), " or later"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      what, ": ", otherwise, " (the driver is for CUDA ", VersionText(driver),
      ", this program was built with CUDA ", VersionText(runtime), ")"));
}

absl::Status CapabilityRequirement(int index, absl::string_view gpu,
                                   ComputeCapability has,
                                   ComputeCapability needs,
                                   absl::string_view what) {
  if (has.major > needs.major ||
      (has.major == needs.major && has.minor >= needs.minor)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      what, ": cuda:", index, " is ", gpu, " of compute capability ", has.major,
      ".", has.minor, ", needs ", needs.major, ".", needs.minor, " or later"));
}

}  // namespace octet
