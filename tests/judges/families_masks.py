#!/usr/bin/env python3
"""The gradients of a text with a loss mask must be those of transformers' models with ignored labels.

    families_masks.py BIN [FAMILY]...    BIN: the directory of the tools

As families_grad.py, whose limits these are, but the text is two documents of different lengths, of which some tokens are
predicted.  Here both share a window, or they are windows with padding, in a step of one pass, or of two; there each
document is a batch of its own, without padding, and the loss is the sum over the predicted tokens of both, divided by
their number.
"""
import sys

import torch

import families_grad
from families import SHAPES, TOKENS, softmax_of
from families_grad import FAMILIES, gradients, judge, ours

IGNORED = -100  # cross_entropy's default
TWINS = (0, 4, 6, 7)
LONG = TOKENS * 2 // 3 + 1  # tokens of the first document; the second has the others


def mask_of(ids):
    """As in an archive: 2 at the beginning of a document, 1 where a token is predicted, otherwise 0."""
    mask = torch.randint(0, 2, (ids.shape[1],), generator=torch.Generator().manual_seed(int(ids.sum()))).numpy()
    mask[[1, LONG + 1]] = 1
    mask[[0, LONG]] = 2
    return mask.astype("u1")


def theirs(model, ids):
    torch.nn.functional.softmax = softmax_of(model)
    model.zero_grad()
    mask, loss = torch.from_numpy(mask_of(ids)), 0
    for begin, end in ((0, LONG), (LONG, ids.shape[1])):
        labels = torch.where(mask[begin + 1:end] == 1, ids[0, begin + 1:end], IGNORED)
        loss = loss + torch.nn.functional.cross_entropy(model(ids[:, begin:end - 1]).logits[0], labels, reduction="sum")
    (loss / (mask == 1).sum()).backward()
    return gradients(model)


def ours_with_mask(path, ids, V, where):
    batch, accumulate, packing = ((1, 1, "yes"), (2, 1, "no"), (1, 1, "yes"), (1, 2, "no"))[int(ids.sum()) % 4]
    return ours(path, ids, V, where, {"mask/00000000": mask_of(ids)},
                ("--batch", str(batch), "--accumulate", str(accumulate), "--packing", packing))


if __name__ == "__main__":
    families_grad.theirs, families_grad.ours = theirs, ours_with_mask
    sys.exit(any([judge(f, twins=[i for i in TWINS if i < len(SHAPES)]) for f in sys.argv[2:] or FAMILIES]))
