"""Turns hard-wrapped novels into chapters of one-line paragraphs, and splits off held-out chapters."""

import random
import re
from pathlib import Path

CHAPTER = re.compile(r"^chapter\s+[ivxlc\d]+\.?$", re.IGNORECASE)
# Everything from these lines on is the editor's or the printer's, not the novel's.
END = re.compile(r"^(the end|finis|a note on the text)\.?$", re.IGNORECASE)
NOISE = re.compile(r"^(volume\s+[ivx\d]+\.?|\[at this point .*|[*\s]+)$", re.IGNORECASE)


def clean_paragraph(lines):
    """Joins wrapped lines; drops italics marks and doubled spaces, which carry no words."""
    text = " ".join(line.strip() for line in lines)
    # A dash at a line's end joins the words on both sides of it.
    text = text.replace("-- ", "--").replace(" --", "--").replace("_", "")
    return re.sub(r"\s+", " ", text).strip()


def read_chapters(path):
    """Chapters of one novel, each a string with one paragraph a line; the front matter is left out."""
    chapters, paragraphs, lines = [], None, []

    def close_paragraph():
        if lines and paragraphs is not None:
            text = clean_paragraph(lines)
            if text:
                paragraphs.append(text)
        lines.clear()

    for line in Path(path).read_text(encoding="utf-8").splitlines():
        bare = line.strip()
        if CHAPTER.match(bare) or END.match(bare):
            close_paragraph()
            if paragraphs:
                chapters.append("\n".join(paragraphs))
            paragraphs = None if END.match(bare) else []
        elif not bare or NOISE.match(bare):
            close_paragraph()
        else:
            lines.append(line)
    close_paragraph()
    if paragraphs:
        chapters.append("\n".join(paragraphs))
    return chapters


def split_chapters(folder, held_out_share, seed):
    """(train, held_out) lists of chapters; whole chapters, drawn by seed until their bytes reach the share."""
    paths = sorted(Path(folder).glob("*.txt"))
    if not paths:
        raise SystemExit(f"{folder}: expected the novels as *.txt, found none (run corpus.R first)")
    chapters = [chapter for path in paths for chapter in read_chapters(path)]
    total_bytes = sum(len(chapter.encode()) for chapter in chapters)
    order = list(range(len(chapters)))
    random.Random(seed).shuffle(order)
    held_out, held_out_bytes = set(), 0
    for index in order:
        if held_out_bytes >= held_out_share * total_bytes:
            break
        held_out.add(index)
        held_out_bytes += len(chapters[index].encode())
    train = [chapter for index, chapter in enumerate(chapters) if index not in held_out]
    return train, [chapters[index] for index in sorted(held_out)]
