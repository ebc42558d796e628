// SPDX-License-Identifier: Apache-2.0

// cuDNN's functions, which this target defines: they load libcudnn.so.9 when
// one is called first, so that a program starts, and works, without it. NVRTC's
// too, which cudnn-frontend names for a normalisation that nobody asks it for:
// those fail.
#ifndef OCTET_MODELS_LAYERS_CUDNN_CUDNN_LIBRARY_H_
#define OCTET_MODELS_LAYERS_CUDNN_CUDNN_LIBRARY_H_

#include <cudnn.h>

#include "absl/status/status.h"

namespace octet::models::internal {

// Unimplemented, with the loader's reason, if it cannot be loaded or lacks a
// function. The functions, called all the same, then return
// CUDNN_STATUS_NOT_INITIALIZED.
absl::Status CudnnLibraryStatus();

}  // namespace octet::models::internal

#endif  // OCTET_MODELS_LAYERS_CUDNN_CUDNN_LIBRARY_H_
