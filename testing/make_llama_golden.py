#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes reference values for a Hugging Face Llama, for `//tools:verify`.

usage: make_llama_golden.py FOLDER [OUT]

Loads FOLDER with transformers in fp32 on the CPU (eager attention) and writes
expected.safetensors into OUT (default: FOLDER): tokens int32 [10, 2, 33], then for
tokens[0] `logits`, `loss` and `grad.<parameter>`; then ten AdamW steps, one for each
tokens[i] (lr 1e-3, betas 0.9 and 0.95, eps 1e-8, weight decay 0.1 on
every parameter, global norm clipped to 1.0): `adamw.loss` before each step,
`adamw.grad_norm` before clipping, `adamw.final.<parameter>`.

Needs torch, transformers and safetensors.
"""
import os
import sys

import torch
from safetensors.torch import save_file
from transformers import LlamaForCausalLM

STEPS, BATCH, LENGTH = 10, 2, 32


def loss_of(model, tokens):
    logits = model(tokens[:, :-1].long()).logits.float()
    targets = tokens[:, 1:].long()
    return logits, torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    folder, out = sys.argv[1], sys.argv[-1]
    torch.manual_seed(0)
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    tokens = torch.randint(model.config.vocab_size, (STEPS, BATCH, LENGTH + 1), dtype=torch.int32)

    values = {"tokens": tokens}
    logits, loss = loss_of(model, tokens[0])
    loss.backward()
    values["logits"], values["loss"] = logits.detach(), loss.detach()
    for name, parameter in model.named_parameters():
        values["grad." + name] = parameter.grad.clone()

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    losses, norms = [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        _, loss = loss_of(model, tokens[step])
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).detach())
        optimizer.step()
        losses.append(loss.detach())
    values["adamw.loss"] = torch.stack(losses)
    values["adamw.grad_norm"] = torch.stack(norms)
    for name, parameter in model.named_parameters():
        values["adamw.final." + name] = parameter.detach().clone()
    save_file({name: value.contiguous() for name, value in values.items()}, os.path.join(out, "expected.safetensors"))
    print("wrote", os.path.join(out, "expected.safetensors"))
    return 0


sys.exit(main())
