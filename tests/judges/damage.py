#!/usr/bin/env python3
"""The damage of tests/damage.bats and tests/bad_files.py, given to other projects' readers.

    damage.py BAD [ARCHIVE]...    BAD: where bad_files.py has written; ARCHIVE: small archives of tg's

Prints a line for each reader: how many damaged files it refuses (raises an exception), reads as what the whole file
says, reads as something else without a word, and on how many it crashes or takes more than SECONDS.  Of files in BAD,
which have no whole one, "something else" is any result.  Needs numpy, safetensors, gguf and torch.
"""
import io
import multiprocessing
import os
import sys

SECONDS = 10


def numpy_npz(data):
    import numpy
    with numpy.load(io.BytesIO(data), allow_pickle=False) as z:
        return {k: (z[k].dtype.str, z[k].shape, z[k].tobytes()) for k in z.files}


def safetensors(data):
    import safetensors.numpy
    return {k: (v.dtype.str, v.shape, v.tobytes()) for k, v in safetensors.numpy.load(data).items()}


def gguf(data):
    import gguf as g
    with open("judged.gguf", "wb") as f:
        f.write(data)
    return {t.name: (tuple(t.shape), t.data.tobytes()) for t in g.GGUFReader("judged.gguf").tensors}


def torch(data):
    import torch as t
    return str(t.load(io.BytesIO(data), weights_only=True))


def work(reader, pipe):
    """Read what comes through the pipe, in a process that may crash."""
    import resource
    sys.stderr = sys.stdout = open(os.devnull, "w")
    resource.setrlimit(resource.RLIMIT_CPU, (600, 600))
    while True:
        data = pipe.recv()
        try:
            result = repr(reader(data))
        except BaseException:  # noqa: whatever it says, it has refused
            result = None
        pipe.send(result)


class Judge:
    def __init__(self, reader):
        self.reader, self.child = reader, None

    def read(self, data):
        """("refused" | "read" | "crash" | "hang", result)"""
        if self.child is None:
            self.pipe, other = multiprocessing.Pipe()
            self.child = multiprocessing.Process(target=work, args=(self.reader, other), daemon=True)
            self.child.start()
            other.close()
        try:
            self.pipe.send(data)
            if not self.pipe.poll(SECONDS):
                self.child.kill()
                self.child = None
                return "hang", None
            result = self.pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self.child = None
            return "crash", None
        return ("refused", None) if result is None else ("read", result)


def report(name, what, outcomes):
    kinds = ("refused", "same", "other", "crash", "hang")
    print(f"{name}\t{what}\t{len(outcomes)} cases\t" + "\t".join(f"{k} {outcomes.count(k)}" for k in kinds), flush=True)


def outcome(judge, data, whole):
    kind, result = judge.read(data)
    return kind if kind != "read" else "same" if result == whole else "other"


def damage(path):
    with open(path, "rb") as f:
        data = f.read()
    judge = Judge(numpy_npz)
    whole = judge.read(data)[1]
    cuts = [outcome(judge, data[:n], whole) for n in range(len(data))]
    flips = [outcome(judge, data[:i // 8] + bytes([data[i // 8] ^ 1 << i % 8]) + data[i // 8 + 1:], whole)
             for i in range(8 * len(data))]
    report("numpy.load", f"{os.path.basename(path)}, cut", cuts)
    report("numpy.load", f"{os.path.basename(path)}, a bit inverted", flips)


def bad_files(folder):
    """The table's lines, for the readers of that format."""
    outcomes = {}
    judges = {"zip": numpy_npz, "npy": numpy_npz, "safetensors": safetensors, "gguf": gguf, "pickle": torch}
    made = {}
    for line in open(f"{folder}/list"):
        path, _, words = line.rstrip("\n").split("\t")
        kind = path.split("/")[0]
        # what is wrong only for a model of tg's is no defect of the file
        if kind not in judges or words == "ok" or path.split("/")[1].split("-")[0] in ("vocabulary", "architecture", "layers", "heads", "width", "epsilon", "nan", "infinity", "nan.npz", "infinity.npz",
                                                                                             "minus", "double", "type"):
            continue
        file = f"{folder}/{path}model.safetensors" if path.endswith("/") else f"{folder}/{path}"
        judge = made.setdefault(kind, Judge(judges[kind]))
        with open(file, "rb") as f:
            outcomes.setdefault(kind, []).append((outcome(judge, f.read(), None), path))
    for kind, list_ in outcomes.items():
        report(judges[kind].__name__, f"bad files: {kind}", [o for o, _ in list_])
        print("\tnot refused:", *[f"{os.path.basename(p.rstrip('/'))} ({o})" for o, p in list_ if o != "refused"])


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    bad_files(sys.argv[1])
    for archive in sys.argv[2:]:
        damage(archive)
