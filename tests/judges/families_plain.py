#!/usr/bin/env python3
"""The plain model of other families than GPT-2 (lib/gpt/plain_llama.h) must be what transformers computes.

    families_plain.py PLAIN_LOGITS [FAMILY]...    PLAIN_LOGITS: the program that tests/unit/plain_logits.c makes

For the twins of families.py: the logits of a text, by the plain model and by transformers, both in double precision
(in_double() says in which sense).  What is left is rounding: a few hundred times 1.1e-16 of the largest logit.
Prints a line for each family; exits with 1 if one says DIFFERS.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

import families

LIMIT = 1e-13


def off(family, i, shape):
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, "twin")
        double = families.saved_twin(path, family, i, shape)[1]
        ids = families.texts(i, shape[6])[0]
        want = families.run(double, ids)[0]
        got = subprocess.run([sys.argv[1], path, *map(str, ids[0].tolist())], stdout=subprocess.PIPE, check=True).stdout
    return families.distance([np.frombuffer(got).reshape(want.shape)], [want])


def judge(family):
    worst = max(off(family, i, shape) for i, shape in enumerate(families.SHAPES))
    bad = not worst <= LIMIT
    print(f"{family}: {len(families.SHAPES)} twins, logits at most {worst:.1e} off: {'DIFFERS' if bad else 'ok'}", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(any([judge(f) for f in sys.argv[2:] or families.FAMILIES]))
