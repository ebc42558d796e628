// SPDX-License-Identifier: Apache-2.0

// Shapes that tests and benchmarks of this package share.
#ifndef OCTET_ROOFLINE_MODEL_TEST_SHAPES_H_
#define OCTET_ROOFLINE_MODEL_TEST_SHAPES_H_

#include "roofline/model/job.h"

namespace octet::roofline {

// Llama 3 8B and 405B, from their config.json.
inline ModelShape Llama8B() {
  return {32, 4096, 32, 8, 128, 14336, 128256, false};
}
inline ModelShape Llama405B() {
  return {126, 16384, 128, 8, 128, 53248, 128256, false};
}

}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_MODEL_TEST_SHAPES_H_
