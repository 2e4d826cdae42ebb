"""Prepares training data: cleaned text, SentencePiece tokenizer, token arrays.

Usage: python3 data.py --novels FOLDER --out FOLDER
Writes tokenizer.model, train.npz, held_out.npz and held_out.txt.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import sentencepiece as spm

from corpus import split_chapters

BOS_ID, EOS_ID = 1, 2
# Ids 4-19 of the 0.8B tokenizer, in its order; the byte pieces follow at 20-275.
USER_SYMBOLS = [
    "<|stream|>", "<|vision|>", "<|endofvision|>", "<|audio|>", "<|endofaudio|>", "<|think|>", "<|endofthink|>",
    "<|spike|>", "<|tool_call|>", "<|endoftool_call|>", "<|system|>", "<|endofsystem|>", "<|user|>", "<|endofuser|>",
    "<|assistant|>", "<|endofassistant|>",
]


def train_tokenizer(chapters, out, vocab_size):
    """SentencePiece BPE in the 0.8B form: identity normaliser, spaces kept, byte fallback."""
    text = out / "train.txt"
    text.write_text("\n".join(chapters) + "\n", encoding="utf-8")
    spm.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(out / "tokenizer"), model_type="bpe", vocab_size=vocab_size,
        byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
        pad_id=0, bos_id=1, eos_id=2, unk_id=3, user_defined_symbols=USER_SYMBOLS, character_coverage=0.9999,
        max_sentence_length=65536, num_threads=1, minloglevel=1,
    )
    (out / "tokenizer.vocab").unlink()
    return spm.SentencePieceProcessor(model_file=str(out / "tokenizer.model"))


def encode(tokenizer, chapters):
    """(ids u16 [n], starts i64 [m]): each chapter followed by EOS and BOS; starts are the sentence openings.

    Only openings whose piece carries the word-boundary mark count: a prompt's first piece carries it too.
    """
    pieces = [tokenizer.id_to_piece(index) for index in range(tokenizer.vocab_size())]
    opens = np.array([piece.startswith("\u2581") for piece in pieces])
    ends = np.array([piece[-1] in ".!?" or piece[-2:] in ('."', '!"', '?"') for piece in pieces])
    quote = np.array([piece == '"' for piece in pieces])
    ids = []
    for chapter in chapters:
        ids += tokenizer.encode(chapter) + [EOS_ID, BOS_ID]
    ids = np.array(ids[:-1], dtype=np.uint16)
    after_end = np.zeros(len(ids), dtype=bool)
    after_end[1:] = ends[ids[:-1]] | (ids[:-1] == BOS_ID)
    after_end[2:] |= quote[ids[1:-1]] & ends[ids[:-2]]
    after_end[0] = True
    return ids, np.flatnonzero(after_end & opens[ids])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--novels", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--vocab-size", type=int, default=2048)
    parser.add_argument("--held-out-share", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=20)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    train, held_out = split_chapters(args.novels, args.held_out_share, args.seed)
    tokenizer = train_tokenizer(train, args.out, args.vocab_size)
    (args.out / "held_out.txt").write_text("\n\n".join(held_out) + "\n", encoding="utf-8")
    report = {}
    for name, chapters in (("train", train), ("held_out", held_out)):
        ids, starts = encode(tokenizer, chapters)
        text_bytes = sum(len(chapter.encode()) for chapter in chapters)
        np.savez(args.out / f"{name}.npz", ids=ids, starts=starts, text_bytes=text_bytes)
        report[name] = {"chapters": len(chapters), "bytes": text_bytes, "tokens": len(ids), "starts": len(starts)}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
