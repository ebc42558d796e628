// SPDX-License-Identifier: Apache-2.0

// Histories of delayed scaling, of all layers together.
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/llama/model.h"

namespace octet::models {

void Llama::VisitScaling(
    const std::function<void(const std::string&, float8::DelayedScale*)>& f) {
  for (Projection* projection : Projections()) projection->VisitScaling(f);
}

absl::Status Llama::AdvanceScaling() {
  absl::Status status;
  VisitScaling([&](const std::string&, float8::DelayedScale* scale) {
    status.Update(scale->Advance());
  });
  return status;
}

absl::Status Llama::DiscardScaling() {
  OCTET_ASSIGN_OR_RETURN(const ScalingState state, SaveScaling());
  return RestoreScaling(state);
}

absl::StatusOr<ScalingState> Llama::SaveScaling() {
  ScalingState state;
  absl::Status status;
  VisitScaling([&](const std::string& name, float8::DelayedScale* scale) {
    absl::StatusOr<std::vector<float>> history = scale->Save();
    status.Update(history.status());
    if (history.ok() && !history->empty()) state[name] = *std::move(history);
  });
  OCTET_RETURN_IF_ERROR(status);
  return state;
}

absl::Status Llama::RestoreScaling(const ScalingState& state) {
  absl::Status status;
  size_t found = 0;
  VisitScaling([&](const std::string& name, float8::DelayedScale* scale) {
    const auto it = state.find(name);
    if (it != state.end()) ++found;
    absl::Status restored =
        scale->Restore(it == state.end() ? std::vector<float>() : it->second);
    if (!restored.ok() && status.ok()) {
      status = absl::Status(restored.code(),
                            absl::StrCat(name, ": ", restored.message()));
    }
  });
  // What the cached forms of weights recorded is forgotten as well: they are
  // cast, and seen, again.
  for (Projection* projection : Projections()) projection->Forget();
  OCTET_RETURN_IF_ERROR(status);
  if (found == state.size()) return absl::OkStatus();
  for (const auto& [name, history] : state) {
    bool known = false;
    VisitScaling([&, &wanted = name](const std::string& candidate,
                                     float8::DelayedScale*) {
      known = known || candidate == wanted;
    });
    if (!known) {
      return absl::InvalidArgumentError(
          absl::StrCat("llama: a scaling history is of \"", name,
                       "\", which this model does not have"));
    }
  }
  return absl::OkStatus();
}

}  // namespace octet::models
