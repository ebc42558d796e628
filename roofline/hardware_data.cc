// SPDX-License-Identifier: Apache-2.0

#include "roofline/hardware_data.h"

#include <string>
#include <utility>

namespace octet::roofline::internal {
namespace {

struct Peaks {
  double bf16, fp8, fp4;
  double memory_rate, memory_bytes;
  const char* source;
};

// `rate` of one GPU, one direction.
struct Links {
  double rate;
  const char* source;
  int gpus;
  double network;
  const char* network_source;
};

Hardware Make(const char* name, std::vector<std::string> aliases,
              const Peaks& peaks, const Links& links) {
  Hardware h;
  h.name = name;
  h.aliases = std::move(aliases);
  h.bf16_flops = peaks.bf16;
  h.fp8_flops = peaks.fp8;
  h.fp4_flops = peaks.fp4;
  h.memory_rate = peaks.memory_rate;
  h.memory_bytes = peaks.memory_bytes;
  h.nvlink_rate = links.rate;
  h.gpus_per_node = links.gpus;
  h.network_rate = links.network;
  for (const char* field : {"bf16_flops", "memory_rate", "memory_bytes"}) {
    h.sources[field] = peaks.source;
  }
  if (peaks.fp8 > 0) h.sources["fp8_flops"] = peaks.source;
  if (peaks.fp4 > 0) h.sources["fp4_flops"] = peaks.source;
  h.sources["nvlink_rate"] = links.source;
  h.sources["gpus_per_node"] = links.source;
  h.sources["network_rate"] = links.network_source;
  h.launch_seconds = 2.5e-6;
  h.graph_launch_seconds = 1.2e-6;
  h.sources["launch_seconds"] = h.sources["graph_launch_seconds"] =
      "measured on an H200, taken for every card";
  h.link_share = 0.8;
  h.sources["link_share"] = "assumed: what large NCCL messages usually reach";
  return h;
}

// What the H200's best kernels reach of the same tensor cores and memory.
void SetHopperShares(Hardware* h) {
  h->bf16_share = 0.71;
  h->fp8_share = 0.63;
  h->memory_share = 0.89;
  for (const char* field : {"bf16_share", "fp8_share", "memory_share"}) {
    h->sources[field] = "measured on an H200, taken for every Hopper card";
  }
}

// No card of these was at hand.
void SetOtherShares(Hardware* h) {
  h->bf16_share = h->fp8_share = 0.78;
  h->memory_share = 0.92;
  for (const char* field : {"bf16_share", "fp8_share", "memory_share"}) {
    h->sources[field] = "torchao's roofline tool (achievable shares)";
  }
}

// Rates at large M, sustained at the power limit (in short bursts after a pause
// multiplications are up to a seventh faster). A product's fixed time: what its
// calls at M = 16 and 256 take above their bound, a launch and the events.
void SetH200Calibration(Hardware* h) {
  h->copy_rate = 4.27e12;
  h->gemm_flops = {{"bf16", 700e12},      {"tensor_fast", 1345e12},
                   {"tensor", 1207e12},   {"row_fast", 1281e12},
                   {"row", 1143e12},      {"block128", 1108e12},
                   {"block1x128", 903e12}};
  h->gemm_fixed_seconds = {{"bf16", 5e-6},         {"tensor_fast", 5e-6},
                           {"tensor", 5e-6},       {"row_fast", 12e-6},
                           {"row", 12e-6},         {"block128", 12e-6},
                           {"block1x128", 10.6e-6}};
  h->sources["copy_rate"] =
      "measured on an H200 (docs/numbers/h200.md, \"Scaled GEMM\")";
  h->sources["gemm_flops"] = h->sources["gemm_fixed_seconds"] =
      "measured on an H200 (docs/numbers/h200.md, \"Scaled GEMM\"; "
      "block1x128: \"Roofline\")";
}

constexpr Links kNvlink4 = {450e9, "NVLink 4: 900 GB/s both directions", 8,
                            50e9, "NVIDIA DGX H100/H200: 400 Gb/s a GPU"};
constexpr Links kBridge = {300e9, "NVLink bridge: 600 GB/s both directions", 2,
                           50e9, "ConnectX-7: 400 Gb/s, one a GPU assumed"};
constexpr Links kPcie4 = {32e9, "PCIe 4.0 x16, 8 cards assumed", 8, 12.5e9,
                          "100 Gb/s Ethernet a GPU, assumed"};
constexpr Links kPcie5 = {64e9, "PCIe 5.0 x16, 8 cards assumed", 8, 12.5e9,
                          "100 Gb/s Ethernet a GPU, assumed"};

void AddHopper(std::vector<Hardware>* all) {
  all->push_back(Make(
      "H100 SXM", {"H100", "H100 SXM5", "H100 80GB HBM3", "H100 SXM5 80GB"},
      {989e12, 1979e12, 0, 3.35e12, 80e9,
       "NVIDIA H100 Tensor Core GPU datasheet (SXM; dense: half of sparse)"},
      kNvlink4));
  all->push_back(Make(
      "H100 PCIe", {"H100 PCIe 80GB"},
      {756e12, 1513e12, 0, 2.0e12, 80e9,
       "NVIDIA H100 Tensor Core GPU datasheet (PCIe; dense: half of sparse)"},
      kBridge));
  all->push_back(Make(
      "H100 NVL", {"H100 NVL 94GB"},
      {835e12, 1671e12, 0, 3.9e12, 94e9,
       "NVIDIA H100 Tensor Core GPU datasheet (NVL; dense: half of sparse)"},
      kBridge));
  all->push_back(Make(
      "H200", {"H200 SXM", "H200 SXM5", "H200 141GB HBM3e"},
      {989e12, 1979e12, 0, 4.8e12, 141e9,
       "NVIDIA H200 Tensor Core GPU datasheet (SXM; dense: half of sparse)"},
      kNvlink4));
  SetH200Calibration(&all->back());
  Links nvl = kNvlink4;
  nvl.source = "NVLink bridge of four: 900 GB/s both directions";
  nvl.gpus = 4;
  nvl.network_source = kBridge.network_source;
  all->push_back(Make(
      "H200 NVL", {"H200 NVL 141GB"},
      {835e12, 1671e12, 0, 4.8e12, 141e9,
       "NVIDIA H200 Tensor Core GPU datasheet (NVL; dense: half of sparse)"},
      nvl));
  for (Hardware& h : *all) SetHopperShares(&h);
}

void AddBlackwell(std::vector<Hardware>* all) {
  const Links nvlink5 = {900e9, "NVLink 5: 1.8 TB/s both directions", 8, 50e9,
                         "NVIDIA DGX B200: 400 Gb/s a GPU"};
  Links rack = nvlink5;
  rack.source = "NVIDIA GB200 NVL72: 1.8 TB/s both directions, 72 GPUs";
  rack.gpus = 72;
  rack.network_source = "NVIDIA GB200 NVL72: 400 Gb/s a GPU";
  all->push_back(Make("B200", {"B200 SXM", "HGX B200", "DGX B200"},
                      {2.25e15, 4.5e15, 9e15, 8e12, 180e9,
                       "NVIDIA DGX B200 datasheet, an eighth (dense)"},
                      nvlink5));
  SetOtherShares(&all->back());
  all->push_back(Make("GB200", {"GB200 NVL72"},
                      {2.5e15, 5e15, 10e15, 8e12, 186e9,
                       "NVIDIA GB200 NVL72 datasheet, a 72nd (dense)"},
                      rack));
  SetOtherShares(&all->back());
}

void AddOthers(std::vector<Hardware>* all) {
  const auto add = [all](Hardware h) {
    SetOtherShares(&h);
    all->push_back(std::move(h));
  };
  add(Make("A100", {"A100 SXM", "A100 SXM4 80GB", "A100 80GB"},
           {312e12, 0, 0, 2.039e12, 80e9,
            "NVIDIA A100 Tensor Core GPU datasheet (80 GB SXM)"},
           {300e9, "NVLink 3: 600 GB/s both directions", 8, 25e9,
            "NVIDIA DGX A100: 200 Gb/s a GPU"}));
  add(Make("L40S", {},
           {362e12, 733e12, 0, 864e9, 48e9, "NVIDIA L40S datasheet (dense)"},
           kPcie4));
  add(Make("RTX 4090", {"GeForce RTX 4090", "4090"},
           {165.2e12, 330.3e12, 0, 1008e9, 24e9,
            "NVIDIA Ada GPU architecture whitepaper (dense, sums in fp32)"},
           kPcie4));
  add(Make("RTX 5090", {"GeForce RTX 5090", "5090"},
           {209.5e12, 419e12, 1676e12, 1792e9, 32e9,
            "NVIDIA RTX Blackwell GPU architecture whitepaper (dense, sums in "
            "fp32)"},
           kPcie5));
  add(Make("MI300X", {"Instinct MI300X", "AMD Instinct MI300X"},
           {1307.4e12, 2614.9e12, 0, 5.3e12, 192e9,
            "AMD Instinct MI300X data sheet (dense)"},
           {448e9, "Infinity Fabric: 7 links of 128 GB/s both directions", 8,
            50e9, "400 Gb/s Ethernet a GPU, assumed"}));
}

}  // namespace

std::vector<Hardware> HardwareData() {
  std::vector<Hardware> all;
  AddHopper(&all);
  AddBlackwell(&all);
  AddOthers(&all);
  return all;
}

}  // namespace octet::roofline::internal
