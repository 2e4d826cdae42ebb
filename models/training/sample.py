"""Text from a checkpoint: greedy, and sampled with top-k and top-p.

Usage: python3 sample.py --checkpoint FILE --tokenizer FILE [--prompt TEXT]... [--tokens N] [--int8]
"""

import argparse
from pathlib import Path

import sentencepiece as spm
import torch

from checkpoint import load_release
from data import BOS_ID, EOS_ID
from evaluate import dequantise_int8

PROMPTS = ["It is a truth universally acknowledged, that", "Emma was", "Mr. Darcy looked at her"]


def pick(logits, temperature, top_k, top_p, generator):
    """One id from logits [V]; temperature 0 takes the largest."""
    if temperature == 0.0:
        return int(logits.argmax())
    values, ids = torch.topk(logits / temperature, top_k)
    probabilities = torch.softmax(values, dim=0)
    # An id stays while the probability before it is at most top_p, so the first always does.
    before = probabilities.cumsum(0) - probabilities
    probabilities[before > top_p] = 0.0
    return int(ids[torch.multinomial(probabilities, 1, generator=generator)])


@torch.no_grad()
def continue_text(model, tokenizer, prompt, n_tokens, temperature, top_k=50, top_p=0.9, seed=0):
    """The prompt and up to n_tokens more, shorter at EOS or at the model's context length."""
    generator = torch.Generator().manual_seed(seed)
    ids = [BOS_ID] + tokenizer.encode(prompt)
    for _ in range(min(n_tokens, model.config["max_seq_len"] - len(ids))):
        logits, _ = model(torch.tensor([ids]))
        chosen = pick(logits[0, -1], temperature, top_k, top_p, generator)
        if chosen == EOS_ID:
            break
        ids.append(chosen)
    return tokenizer.decode(ids[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--prompt", action="append")
    parser.add_argument("--tokens", type=int, default=60)
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--int8", action="store_true", help="with weights rounded as the exporter rounds them")
    args = parser.parse_args()
    model = load_release(args.checkpoint)
    if args.int8:
        dequantise_int8(model)
    tokenizer = spm.SentencePieceProcessor(model_file=str(args.tokenizer))
    for prompt in args.prompt or PROMPTS:
        greedy = continue_text(model, tokenizer, prompt, args.tokens, 0.0)
        sampled = continue_text(model, tokenizer, prompt, args.tokens, args.temperature, seed=args.seed)
        print(f"greedy:  {greedy}\nsampled: {sampled}\n")


if __name__ == "__main__":
    main()
