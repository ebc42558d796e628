// SPDX-License-Identifier: Apache-2.0

#include "roofline/octet_cost.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace octet::roofline::internal {
namespace {

// How one operand is quantised. `along` and `across` are bytes of scales: of
// the form that lies as the operand does, and of the transposed one.
struct Quantisation {
  // An amax must be known before the first byte can be written: of the whole
  // tensor for the first form, of columns for the transposed one. A row or a
  // block fits on the chip.
  bool amax_first = false;
  bool amax_second = false;
  // The producer can write the first form, or give the amax.
  bool scale_is_local = false;
  bool scale_is_known = false;
  bool has_second = true;
  Polynomial along;
  Polynomial across;
};

// [rows, cols] of the operand as it lies.
struct Extent {
  Polynomial rows, cols;
};

Extent ExtentOf(Operand operand) {
  switch (operand) {
    case Operand::kInput:
      return {kM, kK};
    case Operand::kWeight:
      return {kN, kK};
    case Operand::kGradOutput:
      return {kM, kN};
  }
  return {};
}

Quantisation Rowwise(Operand operand, bool high_precision_wgrad) {
  const Extent extent = ExtentOf(operand);
  Quantisation q;
  q.scale_is_local = true;
  q.along = 4 * extent.rows;
  if (!high_precision_wgrad) {
    q.amax_second = true;
    q.across = 4 * extent.cols;
  } else if (operand == Operand::kWeight) {
    q.amax_second = true;  // of the tensor, for dx
    q.across = 4;
  } else {
    q.has_second = false;  // dw is made of bf16
  }
  return q;
}

Quantisation Quantise(absl::string_view recipe, Operand operand) {
  const Polynomial elements = Elements(operand);
  if (recipe == "rowwise") return Rowwise(operand, false);
  if (recipe == "rowwise_gw_hp") return Rowwise(operand, true);
  Quantisation q;
  if (recipe == "tensorwise") {
    q.amax_first = true;
    q.along = 4;
  } else if (recipe == "tensorwise_delayed") {
    q.scale_is_known = true;
    q.along = 4;
  } else if (recipe == "blockwise") {
    q.scale_is_local = true;
    // f32, once as multipliers and once as the GEMM's reciprocals.
    const double tile = operand == Operand::kWeight ? 128 * 128 : 128;
    q.along = q.across = 8 / tile * elements;
  } else {  // mxfp8
    q.scale_is_local = true;
    q.along = q.across = 1.0 / 32 * elements;
  }
  return q;
}

std::string Mode(absl::string_view recipe, GemmRole role) {
  if (recipe == "bf16") return "bf16";
  if (recipe == "blockwise") {
    return role == GemmRole::kGradWeight ? "block1x128" : "block128";
  }
  if (recipe == "mxfp8") return "mxfp8";
  const bool row = absl::string_view(recipe).substr(0, 3) == "row";
  if (recipe == "rowwise_gw_hp" && role == GemmRole::kGradWeight) return "bf16";
  const std::string scales = row ? "row" : "tensor";
  return role == GemmRole::kOutput ? scales + "_fast" : scales;
}

// Bytes an element that a multiplication reads. Scales of rows and tensors are
// too few to matter.
double GemmBytes(absl::string_view mode, Operand operand) {
  if (mode == "bf16") return 2;
  if (mode == "mxfp8") return 1 + 1.0 / 32;
  if (mode == "block128" || mode == "block1x128") {
    return 1 + 4.0 / (operand == Operand::kWeight ? 128 * 128 : 128);
  }
  return 1;
}

class Builder {
 public:
  explicit Builder(const LinearOptions& options)
      : options_(options), fp8_(options.recipe != "bf16") {}

  std::vector<KernelCost> Build() {
    if (options_.norm) Add(NormCost(Pass::kForward));
    // What is made again in backward leaves its transpose to then.
    const bool keep = options_.saved_transposes && !options_.recompute;
    if (fp8_) AddCasts(Operand::kInput, keep, Pass::kForward);
    AddWeight();
    AddGemm(GemmRole::kOutput, Pass::kForward);
    AddWeightAgain();
    if (options_.recompute) Recompute();
    AddBackward();
    return kernels_;
  }

 private:
  void Add(KernelCost cost) { kernels_.push_back(std::move(cost)); }

  void AddGemm(GemmRole role, Pass pass) {
    const std::string mode = Mode(options_.recipe, role);
    const Operand left =
        role == GemmRole::kOutput ? Operand::kInput : Operand::kGradOutput;
    const Operand right =
        role == GemmRole::kGradWeight ? Operand::kInput : Operand::kWeight;
    KernelCost cost =
        GemmCost(role, mode, GemmBytes(mode, left), GemmBytes(mode, right));
    if (pass != cost.pass) absl::StrAppend(&cost.name, ", again");
    cost.pass = pass;
    Add(cost);
  }

  void Recompute() {
    if (options_.norm) {
      KernelCost norm = NormCost(Pass::kForward);
      norm.name = "norm, again";
      norm.pass = Pass::kBackward;
      Add(norm);
    }
    if (fp8_) AddCasts(Operand::kInput, true, Pass::kBackward);
    AddGemm(GemmRole::kOutput, Pass::kBackward);
  }

  // What backward needs of w and forward did not leave.
  void AddWeightAgain() {
    if (options_.gather != Gather::kNone) AddGather(Pass::kBackward);
    if (!fp8_) return;
    if (options_.gather == Gather::kFp8) {
      Add(WeightTranspose());
    } else if (options_.gather == Gather::kBf16 && options_.recompute) {
      AddCasts(Operand::kWeight, true, Pass::kBackward);
    } else if (options_.gather == Gather::kBf16 || !options_.saved_transposes) {
      AddSecond(Operand::kWeight);
    }
  }

  void AddBackward() {
    if (fp8_) AddCasts(Operand::kGradOutput, true, Pass::kBackward);
    AddGemm(GemmRole::kGradInput, Pass::kBackward);
    if (fp8_ && !options_.saved_transposes && !options_.recompute) {
      AddSecond(Operand::kInput);
    }
    AddGemm(GemmRole::kGradWeight, Pass::kBackward);
    if (options_.gather != Gather::kNone) {
      Add(ReduceScatterCost(Elements(Operand::kWeight), 4, options_.ranks));
    }
    if (options_.norm) Add(NormCost(Pass::kBackward));
  }

  // Amax and cast from bf16: the first form, or both from one read.
  void AddCasts(Operand operand, bool both, Pass pass) {
    const Quantisation q = Quantise(options_.recipe, operand);
    both = both && q.has_second;
    const bool fused = options_.fused_producer && operand != Operand::kWeight;
    // The amax of the first time is kept.
    const bool again =
        pass == Pass::kBackward && operand != Operand::kGradOutput;
    std::vector<KernelCost> made;
    if ((q.amax_first && !fused && !again) || (both && q.amax_second)) {
      made.push_back(AmaxCost(operand));
    }
    // A producer that knows the scales of all forms writes float8 itself and
    // nothing is read; of rows it knows the first form's alone.
    const bool writes_all = fused && (q.scale_is_known || q.scale_is_local) &&
                            !(both && q.amax_second);
    KernelCost cast =
        CastCost("cast", operand, writes_all ? 0 : 2, both ? 2 : 1);
    cast.bytes += q.along;
    if (both) cast.bytes += q.across;
    if (writes_all) {
      absl::StrAppend(&cast.name, ", fused");
      cast.launches = 0;
    }
    made.push_back(cast);
    for (KernelCost& cost : made) {
      if (cost.pass != pass) absl::StrAppend(&cost.name, ", again");
      cost.pass = pass;
      Add(cost);
    }
  }

  // The transposed form in backward, from bf16.
  void AddSecond(Operand operand) {
    const Quantisation q = Quantise(options_.recipe, operand);
    if (!q.has_second) return;
    if (q.amax_second) {
      KernelCost amax = AmaxCost(operand);
      amax.pass = Pass::kBackward;
      Add(amax);
    }
    KernelCost cast = CastCost("cast transposed", operand, 2, 1);
    cast.bytes += q.across;
    cast.pass = Pass::kBackward;
    Add(cast);
  }

  void AddWeight() {
    if (!fp8_) {
      if (options_.gather != Gather::kNone) AddGather(Pass::kForward);
      return;
    }
    if (options_.gather == Gather::kBf16) {
      AddGather(Pass::kForward);
      AddCasts(Operand::kWeight, false, Pass::kForward);
      return;
    }
    // Slices are cast before they travel, in both forms if scales differ; the
    // transposition is the receiver's.
    const bool gathers = options_.gather == Gather::kFp8;
    const bool differ = options_.recipe != "tensorwise" &&
                        options_.recipe != "tensorwise_delayed" &&
                        options_.recipe != "blockwise";
    const size_t first = kernels_.size();
    AddCasts(Operand::kWeight, gathers ? differ : options_.saved_transposes,
             Pass::kForward);
    for (size_t i = first; i < kernels_.size(); ++i) {
      if (gathers) kernels_[i].bytes /= static_cast<double>(options_.ranks);
      kernels_[i].count = 1.0 / static_cast<double>(options_.microbatches);
    }
    if (gathers) AddGather(Pass::kForward);
  }

  void AddGather(Pass pass) {
    const bool wire_fp8 = options_.gather == Gather::kFp8;
    KernelCost cost = AllGatherCost(Elements(Operand::kWeight),
                                    wire_fp8 ? 1 : 2, options_.ranks);
    absl::StrAppend(&cost.name, wire_fp8 ? " float8 weight" : " bf16 weight");
    cost.pass = pass;
    Add(cost);
  }

  static KernelCost WeightTranspose() {
    KernelCost cost = CastCost("transpose", Operand::kWeight, 1, 1);
    cost.pass = Pass::kBackward;
    return cost;
  }

  const LinearOptions& options_;
  const bool fp8_;
  std::vector<KernelCost> kernels_;
};

}  // namespace

std::vector<KernelCost> OctetCost(const LinearOptions& options) {
  return Builder(options).Build();
}

}  // namespace octet::roofline::internal
