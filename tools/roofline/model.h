// SPDX-License-Identifier: Apache-2.0

// roofline model: a training step of a whole Llama.
#ifndef OCTET_TOOLS_ROOFLINE_MODEL_H_
#define OCTET_TOOLS_ROOFLINE_MODEL_H_

#include "tools/roofline/command.h"

namespace octet::tools {

const RooflineCommand& ModelCommand();

}  // namespace octet::tools

#endif  // OCTET_TOOLS_ROOFLINE_MODEL_H_
