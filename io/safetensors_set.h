// SPDX-License-Identifier: Apache-2.0

// A model folder's tensors: model.safetensors, or shards that
// model.safetensors.index.json lists, as Hugging Face writes them.
#ifndef OCTET_IO_SAFETENSORS_SET_H_
#define OCTET_IO_SAFETENSORS_SET_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/tensor.h"
#include "io/safetensors.h"

namespace octet::io {

// Move-only; tensors go with it.
class SafetensorsSet {
 public:
  // model.safetensors is taken when both are there. NotFound when neither is,
  // or a shard is missing; DataLoss for a broken file or an index that does not
  // fit its shards.
  static absl::StatusOr<SafetensorsSet> Open(const std::string& folder);

  const std::string& folder() const { return folder_; }
  // Sorted.
  const std::vector<std::string>& names() const { return names_; }
  bool Contains(absl::string_view name) const;
  // See SafetensorsFile.
  absl::StatusOr<TensorView> Find(absl::string_view name) const;

 private:
  std::string folder_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, int64_t> file_of_;
  std::vector<std::string> names_;
};

// A weight as stored: data, times `scale` if that is there.
struct StoredWeight {
  TensorView data;
  TensorView scale;
};

// Finds a weight and, if it is float8, the scale beside it: NAME_scale or
// NAME_scale_inv, both of which multiply (the latter is the inverse of what the
// cast multiplied by). DataLoss for float8 without one: its bytes alone are
// values off by an unknown factor.
absl::StatusOr<StoredWeight> FindWeight(const SafetensorsSet& set,
                                        absl::string_view name);

struct SafetensorsSetOptions {
  int64_t max_shard_bytes = 5'000'000'000;  // of tensors; one may exceed it
  SafetensorsOptions file;
};

// Writes model.safetensors or, past max_shard_bytes, shards and an index, into
// an existing folder. Files of the other form are removed afterwards, so that
// Open finds what was written.
absl::Status WriteSafetensorsSet(const std::string& folder,
                                 absl::Span<const NamedTensor> tensors,
                                 const SafetensorsSetOptions& options = {});

}  // namespace octet::io

#endif  // OCTET_IO_SAFETENSORS_SET_H_
