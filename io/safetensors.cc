// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/device_runtime.h"
#include "base/status_macros.h"
#include "io/atomic_file.h"
#include "io/checksum.h"
#include "io/safetensors_header.h"

namespace octet::io {
namespace {

using internal::HeaderEntry;
using internal::SafetensorsHeader;

constexpr int64_t kLengthBytes = 8;

absl::StatusOr<int64_t> HeaderLength(const MappedFile& file) {
  if (file.size() < kLengthBytes) {
    return absl::DataLossError(
        absl::StrCat(file.path(),
                     ": the header length needs 8 bytes, the file "
                     "has ",
                     file.size()));
  }
  uint64_t length = 0;
  for (int i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<uint64_t>(file.data()[i]) << (8 * i);
  }
  if (length > static_cast<uint64_t>(internal::kMaxSafetensorsHeader)) {
    return absl::DataLossError(
        absl::StrCat(file.path(), ": the header length is ", length,
                     ", the most is ", internal::kMaxSafetensorsHeader));
  }
  if (length > static_cast<uint64_t>(file.size() - kLengthBytes)) {
    return absl::DataLossError(
        absl::StrCat(file.path(), ": the header length is ", length,
                     ", the file has ", file.size(), " bytes"));
  }
  return static_cast<int64_t>(length);
}

// Writes to the file and to the checksum.
class Sink {
 public:
  explicit Sink(AtomicFile* file) : file_(file) {}

  absl::Status Write(const void* data, int64_t bytes) {
    OCTET_RETURN_IF_ERROR(file_->Write(data, bytes));
    checksum_.Update(data, bytes);
    written_.bytes += bytes;
    return absl::OkStatus();
  }

  absl::Status Write(const TensorView& tensor) {
    if (tensor.device().kind == DeviceKind::kCpu) {
      return Write(tensor.data(), tensor.num_bytes());
    }
    constexpr int64_t kPiece = int64_t{64} << 20;
    OCTET_ASSIGN_OR_RETURN(const DeviceRuntime* runtime,
                           GetDeviceRuntime(tensor.device().kind));
    const int index = tensor.device().index;
    const int64_t bytes = tensor.num_bytes();
    std::vector<char> staging(std::min(bytes, kPiece));
    for (int64_t at = 0; at < bytes; at += kPiece) {
      const int64_t count = std::min(kPiece, bytes - at);
      OCTET_RETURN_IF_ERROR(runtime->copy(
          index, nullptr, tensor.as<char>() + at, staging.data(), count));
      OCTET_RETURN_IF_ERROR(runtime->synchronize(index, nullptr));
      OCTET_RETURN_IF_ERROR(Write(staging.data(), count));
    }
    return absl::OkStatus();
  }

  WrittenFile written() const {
    WrittenFile result = written_;
    result.checksum = checksum_.value();
    return result;
  }

 private:
  AtomicFile* file_;
  Checksum checksum_;
  WrittenFile written_;
};

absl::StatusOr<SafetensorsHeader> PlanHeader(
    absl::Span<const NamedTensor* const> tensors, const std::string& path,
    const SafetensorsOptions& options) {
  SafetensorsHeader header;
  header.metadata = options.metadata;
  int64_t offset = 0;
  std::map<absl::string_view, int> seen;
  for (const NamedTensor* tensor : tensors) {
    if (tensor->name == "__metadata__" || ++seen[tensor->name] > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": the tensor name '", tensor->name, "' is ",
                       seen[tensor->name] > 1 ? "given twice" : "reserved"));
    }
    HeaderEntry entry;
    entry.name = tensor->name;
    entry.dtype = tensor->tensor.dtype();
    entry.shape = tensor->tensor.shape();
    entry.begin = offset;
    entry.end = offset += tensor->tensor.num_bytes();
    header.tensors.push_back(std::move(entry));
  }
  return header;
}

}  // namespace

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  OCTET_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  SafetensorsFile result(std::move(mapped));
  const MappedFile& file = result.file_;
  OCTET_ASSIGN_OR_RETURN(const int64_t length, HeaderLength(file));
  const int64_t data_begin = kLengthBytes + length;
  const absl::string_view text(
      reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
  OCTET_ASSIGN_OR_RETURN(
      SafetensorsHeader header,
      internal::ParseSafetensorsHeader(text, file.size() - data_begin, path));
  result.metadata_ = std::move(header.metadata);
  for (const HeaderEntry& entry : header.tensors) {
    uint8_t* data =
        const_cast<uint8_t*>(file.data()) + data_begin + entry.begin;
    if (reinterpret_cast<uintptr_t>(data) % SizeOf(entry.dtype) != 0) {
      OCTET_ASSIGN_OR_RETURN(Tensor copy,
                             Tensor::Allocate(entry.dtype, entry.shape));
      std::memcpy(copy.as<uint8_t>(), data, entry.end - entry.begin);
      data = copy.as<uint8_t>();
      result.realigned_.push_back(std::move(copy));
    }
    result.names_.push_back(entry.name);
    result.tensors_[entry.name] = TensorView(data, entry.dtype, entry.shape);
  }
  return result;
}

bool SafetensorsFile::Contains(absl::string_view name) const {
  return tensors_.count(std::string(name)) > 0;
}

absl::StatusOr<TensorView> SafetensorsFile::Find(absl::string_view name) const {
  const auto it = tensors_.find(std::string(name));
  if (it == tensors_.end()) {
    return absl::NotFoundError(
        absl::StrCat(path(), ": no tensor '", name, "'"));
  }
  return it->second;
}

absl::StatusOr<TensorView> SafetensorsFile::Find(absl::string_view name,
                                                 DType dtype,
                                                 const Shape& shape) const {
  OCTET_ASSIGN_OR_RETURN(const TensorView tensor, Find(name));
  if (tensor.dtype() != dtype || tensor.shape() != shape) {
    return absl::DataLossError(
        absl::StrCat(path(), ": tensor '", name, "' is ", Name(tensor.dtype()),
                     " ", tensor.shape().ToString(), ", expected ", Name(dtype),
                     " ", shape.ToString()));
  }
  return tensor;
}

absl::StatusOr<WrittenFile> WriteSafetensors(
    const std::string& path, absl::Span<const NamedTensor> tensors,
    const SafetensorsOptions& options) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& tensor : tensors) order.push_back(&tensor);
  if (options.order == TensorOrder::kByName) {
    std::stable_sort(order.begin(), order.end(),
                     [](const NamedTensor* a, const NamedTensor* b) {
                       return a->name < b->name;
                     });
  }
  OCTET_ASSIGN_OR_RETURN(const SafetensorsHeader header,
                         PlanHeader(order, path, options));
  const std::string head = internal::FormatSafetensorsHeader(header);
  if (static_cast<int64_t>(head.size()) >
      kLengthBytes + internal::kMaxSafetensorsHeader) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": ", order.size(), " tensors need a header of ", head.size(),
        " bytes, the most is ", internal::kMaxSafetensorsHeader));
  }
  OCTET_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  Sink sink(&file);
  OCTET_RETURN_IF_ERROR(sink.Write(head.data(), head.size()));
  for (const NamedTensor* tensor : order) {
    OCTET_RETURN_IF_ERROR(sink.Write(tensor->tensor));
  }
  OCTET_RETURN_IF_ERROR(file.Commit());
  return sink.written();
}

}  // namespace octet::io
