// SPDX-License-Identifier: Apache-2.0

// Files of named tensors, in the safetensors format: a 64-bit little-endian
// header length, that many bytes of JSON, then the tensors' bytes.
//
//   https://huggingface.co/docs/safetensors
//
// Reading checks the whole header before anything else: a broken file is a
// DataLoss error that names the file and the field, and allocates nothing of a
// size that the file claims.
#ifndef OCTET_IO_SAFETENSORS_H_
#define OCTET_IO_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/tensor.h"
#include "io/file.h"

namespace octet::io {

struct NamedTensor {
  std::string name;
  TensorView tensor;
};

// Move-only. Tensors stay where they are when it moves, and go with it.
class SafetensorsFile {
 public:
  // NotFound if the file is missing, DataLoss if it is broken.
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  // In the order of their data.
  const std::vector<std::string>& names() const { return names_; }
  bool Contains(absl::string_view name) const;

  // Read-only memory of the host: writing to it is a crash. NotFound names the
  // tensor and the file.
  absl::StatusOr<TensorView> Find(absl::string_view name) const;

  // As Find; DataLoss unless the tensor has this dtype and shape.
  absl::StatusOr<TensorView> Find(absl::string_view name, DType dtype,
                                  const Shape& shape) const;

  // The header's __metadata__.
  const std::map<std::string, std::string>& metadata() const {
    return metadata_;
  }

 private:
  explicit SafetensorsFile(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
  std::vector<std::string> names_;
  std::map<std::string, TensorView, std::less<>> tensors_;
  std::map<std::string, std::string> metadata_;
  // Those that the file puts at an address their dtype does not allow.
  std::vector<Tensor> realigned_;
};

enum class TensorOrder : uint8_t { kByName, kAsGiven };

struct SafetensorsOptions {
  TensorOrder order = TensorOrder::kByName;
  // Hugging Face's loaders ask for the format.
  std::map<std::string, std::string> metadata = {{"format", "pt"}};
};

struct WrittenFile {
  int64_t bytes = 0;
  uint64_t checksum = 0;  // io/checksum.h, of the whole file
};

// Creates or replaces `path`, atomically (io/atomic_file.h). The same tensors
// give the same bytes. Tensors lie in their order without gaps, the first at a
// multiple of 8. Those of a GPU are copied in pieces; work on them must have
// finished. InvalidArgument for a name given twice or called __metadata__.
absl::StatusOr<WrittenFile> WriteSafetensors(
    const std::string& path, absl::Span<const NamedTensor> tensors,
    const SafetensorsOptions& options = {});

}  // namespace octet::io

#endif  // OCTET_IO_SAFETENSORS_H_
