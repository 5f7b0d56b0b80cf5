#!/usr/bin/env python3
"""Products, training steps, sampling, lenses and patches of this project against PyTorch's and llama.cpp's.

    peers.py BUILD [--threads N] [--turns N] [--patient] [--plain-malloc] [--lock FILE] [WORD...]

Prints a table in Markdown, of the rows whose names contain a WORD.  A row's programs take turns, in one
order and then in the other; figures are medians over the turns, and the ratio is how many times faster tg
is than the fastest of the others: the median over the turns, its range, and that of each one's best turn.  Each program works with as many threads (2).  Work that the machine
does besides disturbs some libraries more than others: the last column says the greatest share of the
processors that it took in a turn.  --patient: wait for it to end, up to 20 seconds a time, and repeat the
turns in which it took more than a tenth, once.  --lock FILE: lock it for each row, as flock(1) does, on a machine
on which others measure too.

tg-lens and tg-patch are whole commands, which read the model and print; PyTorch's time begins when the model is in
memory, and ends with tensors.  It patches in batches, all patches of a layer in one, in inference mode.

glibc's malloc is told to keep freed memory, as PyTorch's guide to tuning has other allocators do; otherwise
each step has its pages made again, which takes up to a third of its time.  --plain-malloc: as it is.
"""
import argparse
import contextlib
import fcntl
import importlib.metadata
import os
import platform
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
QUIET = 0.05    # share of the processors that other programs may take when a program's turn begins
PATIENCE = 20   # seconds to wait for that
DISTURBED = 0.1 # share in a turn that is repeated
TICK = 1 / os.sysconf("SC_CLK_TCK")
SAMPLED = 128   # tokens in each turn of sampling

PRODUCTS = ["gpt2 qkv 256x2304x768", "gpt2 fc 1024x3072x768", "gpt2 fc to input 1024x768x3072",
            "gpt2 fc to weight 768x3072x1024", "gpt2 head 256x50257x768", "baby fc 768x512x128",
            "baby proj 768x128x512", "baby to weight 128x512x768"]
STEPS = ["baby 12x64", "mid 16x256", "gpt2 4x64", "gpt2 4x1024", "cs336 16x256", "smollm2 4x256"]
SAMPLED_MODELS = {"gpt2": "gpt2", "smollm2": "smollm2-135m"}  # presets
PROMPT = 512    # tokens
LENS, TOP = 1024, 10
PATCHED = 15    # tokens of the prompts that are patched
HEADS = {"gpt2": 144, "smollm2": 270}
#          --precision, the types of GGUF files
SAMPLES = [("float32", ["f32"]), ("bf16", ["f16", "bf16"]), ("int8", ["q8_0"])]
KEEP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(10**11), "MALLOC_TOP_PAD_": str(2**28)}
TYPES = {"": "float32", "bf16 ": "bfloat16"}


class Missing(Exception):
    """Why something cannot be measured here."""


# ---- programs: each measures once and returns seconds, MiB and the processor time that it took

def used_by(usage):
    return usage.ru_utime + usage.ru_stime


class Bench:
    """A row of bench, which warms up in each turn."""

    def __init__(self, o, row):
        self.command = [f"{o.build}/bench", row]
        self.env = {**os.environ, "OMP_NUM_THREADS": str(o.threads), "BENCH_FORMAT": "tsv", "BENCH_TURNS": "1"}

    def measure(self):
        before = used_by(resource.getrusage(resource.RUSAGE_CHILDREN))
        out = subprocess.run(self.command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        used = used_by(resource.getrusage(resource.RUSAGE_CHILDREN)) - before
        lines = [line.split("\t") for line in out.stdout.splitlines()]
        if out.returncode != 0 or len(lines) != 2:
            raise Missing((out.stderr.strip() or "bench: no such row").splitlines()[-1])
        row = dict(zip(*lines))
        if float(row["seconds"]) == 0:
            raise Missing("these kernels have none")
        return float(row["seconds"]), float(row["mib"]), used

    def close(self):
        pass


class TgSample:
    """tg-sample, which prints each token when it is chosen: the first ones are not counted."""

    SKIPPED = 8

    def __init__(self, o, model, precision, count):
        tool = f"{o.build}/bin/tg-sample"
        if precision not in subprocess.run([tool, "--help"], stdout=subprocess.PIPE, text=True).stdout:
            raise Missing(f"tg-sample has no --precision {precision}")
        self.command = [tool, "-m", model, "--ids", "0", "--no-prompt", "--greedy", "--tokens", str(SAMPLED),
                        "--precision", precision, "--count", str(count), "--threads", str(o.threads)]

    def measure(self):
        process = subprocess.Popen(self.command, stdout=subprocess.PIPE)
        tokens, begin, first = 0, None, 0
        while tokens < SAMPLED:
            part = os.read(process.stdout.fileno(), 1 << 16)
            if not part:
                raise Missing("tg-sample failed")
            tokens += part.count(b" ")
            if begin is None and tokens >= self.SKIPPED:
                begin, first = time.monotonic(), tokens
        seconds = (time.monotonic() - begin) / (SAMPLED - first)
        while os.read(process.stdout.fileno(), 1 << 16):
            pass
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        return seconds, usage.ru_maxrss / 1024, used_by(usage)

    def close(self):
        pass


class Command:
    """A tool, from its beginning to its end."""

    def __init__(self, o, tool, model, *options):
        self.command = [f"{o.build}/bin/{tool}", "-q", "-m", model_file(o, model), "--threads", str(o.threads), "--tsv",
                        *map(str, options)]
        self.measure()

    def measure(self):
        begin = time.monotonic()
        process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise Missing(f"{self.command[0]} failed")
        return time.monotonic() - begin, usage.ru_maxrss / 1024, used_by(usage)

    def close(self):
        pass


class Peer:
    """A process of peers_work.py."""

    def __init__(self, o, seconds, *words):
        self.seconds = seconds
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, f"{HERE}/peers_work.py", str(o.threads), *map(str, words)], text=True,
            env={**os.environ, **({} if o.plain_malloc else KEEP), "OMP_NUM_THREADS": str(o.threads),
                 "TORCHINDUCTOR_CACHE_DIR": f"{o.directory}/inductor"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        try:
            self.answer()
        except BaseException:
            self.close()
            raise

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            self.errors.seek(0)
            raise Missing(f"it ended with signal {-status}" if status < 0 else
                          (self.errors.read().strip() or "it ended").splitlines()[-1])
        return line.split()

    def measure(self):
        print(self.seconds, file=self.process.stdin, flush=True)
        return tuple(float(word) for word in self.answer())

    def close(self):
        self.process.kill()
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


# ---- rows: a name, how seconds are shown, and what makes the programs, ours first

def seconds_each(seconds):
    return f"{seconds:.3g} s" if seconds >= 0.1 else f"{1e3 * seconds:.3g} ms"


def per_second(amount, unit):
    return lambda seconds: f"{amount / seconds:.4g} {unit}"


def product_row(name, kind):
    M, N, K = (int(n) for n in name.split()[-1].split("x"))
    direction = 1 if "to input" in name or "head" in name else 2 if "to weight" in name else 0
    hows = ["mm"] if direction == 2 else ["mm", "linear", "packed"]  # B is no weight there
    row = f"product {kind}{name}"
    return row, per_second(2e-9 * M * N * K, "GFLOP/s"), lambda o: {
        "tg": lambda: Bench(o, row),
        **{how: lambda how=how: Peer(o, 0.3, "product", M, N, K, direction, TYPES[kind], how) for how in hows}}


def step_row(name, kind):
    model, size = name.split()
    row = f"step {kind}{name}"
    return row, seconds_each, lambda o: {
        "tg": lambda: Bench(o, row),
        **{how: lambda how=how: Peer(o, 0.5, "step", model, *size.split("x"), TYPES[kind], how)
           for how in ("eager", "compiled")}}


def sample_row(model, precision, dtypes, count):
    kind = "" if precision == "float32" else precision + " "
    return (f"sample {kind}{model} {'one sequence' if count == 1 else f'{count} sequences'}",
            per_second(count, "tokens/s"), lambda o: {
                "tg": lambda: TgSample(o, model_file(o, model), precision, count),
                **{dtype: lambda dtype=dtype: Peer(o, 3, "sample", gguf_file(o, model, dtype), count)
                   for dtype in dtypes}})


def prompt_row(precision, dtypes):
    row = f"prompt {'' if precision == 'float32' else precision + ' '}smollm2 {PROMPT}"
    return row, per_second(PROMPT, "tokens/s"), lambda o: {
        "tg": lambda: Bench(o, row),
        **{dtype: lambda dtype=dtype: Peer(o, 1, "prompt", gguf_file(o, "smollm2", dtype), PROMPT)
           for dtype in dtypes}}


def some_ids(n, seed):
    numbers = random.Random(seed)
    return " ".join(str(numbers.randrange(49152)) for _ in range(n))


def lens_row(model):
    return f"lens {model} {LENS}, top {TOP}", seconds_each, lambda o: {
        "tg": lambda: Command(o, "tg-lens", model, "--ids", some_ids(LENS, 1), "--top", TOP),
        "hooks": lambda: Peer(o, 0, "lens", model, LENS, TOP)}


def attribute_row(model):
    return f"attribute {model} {LENS}, by key", seconds_each, lambda o: {
        "tg": lambda: Command(o, "tg-lens", model, "--ids", some_ids(LENS, 1), "--attribute-ids", "1-2", "--keys"),
        "hooks": lambda: Peer(o, 0, "attribute", model, LENS)}


def patch_row(model):
    return f"patch {model} {HEADS[model]} heads x {PATCHED}", seconds_each, lambda o: {
        "tg": lambda: Command(o, "tg-patch", model, "--ids", some_ids(PATCHED, 1), "--corrupt-ids",
                              some_ids(PATCHED, 2), "--answer-id", 1, "--wrong-id", 2, "--site", "z", "--each", "both"),
        **{how: lambda how=how: Peer(o, 0, "patch", model, PATCHED, how) for how in ("whole", "resumed")}}


def rows():
    return [*(product_row(name, kind) for kind in TYPES for name in PRODUCTS),
            *(step_row(name, kind) for name in STEPS for kind in TYPES),
            *(sample_row("gpt2", *sample, count) for count in (1, 16) for sample in SAMPLES),
            *(sample_row("smollm2", *sample, 1) for sample in SAMPLES), *(prompt_row(*sample) for sample in SAMPLES),
            *(row(model) for row in (lens_row, attribute_row, patch_row) for model in SAMPLED_MODELS)]


def made(path, *command):
    if not os.path.exists(path):
        subprocess.run([*command, "-o", path], check=True, stderr=subprocess.DEVNULL)
    return path


def model_file(o, model):
    size = {"gpt2": 50257, "smollm2": 49152}[model]
    return made(f"{o.directory}/{model}.npz", f"{o.build}/bin/tg-init", "-P", SAMPLED_MODELS[model], "-t", "ids",
                "--vocab-size", str(size))


def gguf_file(o, model, dtype):
    # llama.cpp wants a tokenizer
    source = made(f"{o.directory}/{model}-bytes.npz", f"{o.build}/bin/tg-init", "-P", SAMPLED_MODELS[model])
    return made(f"{o.directory}/{model}-{dtype}.gguf", f"{o.build}/bin/tg-convert", source, "--to", "gguf",
                "--dtype", dtype)


# ---- turns

@contextlib.contextmanager
def locked(path):
    if not path:
        yield
        return
    with open(path, "a") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def processors():
    """Seconds that the processors have been idle, and that they have worked."""
    with open("/proc/stat") as f:
        user, nice, system, idle, wait, *others = map(int, f.readline().split()[1:9])
    return TICK * (idle + wait), TICK * (user + nice + system + sum(others))


def share_of_others(before, used):
    """The share of the processors since then, except what our programs used."""
    idle, work = (now - then for now, then in zip(processors(), before))
    return max(0, work - used) / max(TICK, idle + work)


def wait_for_quiet():
    end = time.monotonic() + PATIENCE
    while True:
        before = processors()
        time.sleep(0.3)
        if share_of_others(before, 0) < QUIET or time.monotonic() > end:
            return


def start(o, makers):
    """The programs that can be measured here, and why the others cannot."""
    programs, reasons = {}, []
    for name, make in makers.items():
        try:
            programs[name] = make()
        except (Missing, OSError, subprocess.CalledProcessError) as e:
            reasons.append(f"{name}: {e}")
    return programs, reasons


def take_turn(o, programs, names):
    """Each program's seconds and MiB, and the greatest share that others took meanwhile."""
    found, most = {}, 0
    for name in names:
        if o.patient:
            wait_for_quiet()
        before = processors()
        *found[name], used = programs[name].measure()
        most = max(most, share_of_others(before, used))
    return found, most


def take_turns(o, programs):
    turns, spare = [], o.turns if o.patient else 0
    while len(turns) < o.turns:
        found, share = take_turn(o, programs, list(programs)[::-1 if len(turns) % 2 else 1])
        if share > DISTURBED and spare > 0:
            spare -= 1
        else:
            turns.append((found, share))
    return [found for found, _ in turns], max(share for _, share in turns)


def line(name, shown, turns, share):
    """A row of the table."""
    seconds = {program: [turn[program][0] for turn in turns] for program in turns[0]}
    middle = {program: statistics.median(s) for program, s in seconds.items()}
    best = min((program for program in middle if program != "tg"), key=middle.get)
    ratios = [theirs / ours for theirs, ours in zip(seconds[best], seconds["tg"])]
    best_turns = min(seconds[best]) / min(seconds["tg"])
    memory = [round(max(turn[program][1] for turn in turns)) for program in ("tg", best)]
    theirs = ", ".join(f"{program} {shown(m)}" for program, m in middle.items() if program != "tg")
    return (f"| {name} | {shown(middle['tg'])} | {theirs} | {statistics.median(ratios):.2f} | "
            f"{min(ratios):.2f} to {max(ratios):.2f} | {best_turns:.2f} | {memory[0]} | {memory[1]} | {share:.0%} |")


def run_row(o, name, shown, makers):
    programs, reasons = start(o, makers(o))
    try:
        if "tg" not in programs or len(programs) < 2:
            raise Missing("; ".join(reasons))
        turns, share = take_turns(o, programs)
    finally:
        for p in programs.values():
            p.close()
    print(line(name, shown, turns, share), flush=True)
    for reason in reasons:
        print(f"{name}: without {reason}", file=sys.stderr)


# ---- all

def processor():
    with open("/proc/cpuinfo") as f:
        names = [line.split(":")[1].strip() for line in f if line.startswith("model name")]
    return names[0] if names else platform.machine()


def introduce(o):
    def version(package):
        try:
            return f"{package} {importlib.metadata.version(package)}"
        except importlib.metadata.PackageNotFoundError:
            return f"no {package}"
    kernels = subprocess.run([f"{o.build}/bench", "none"], stdout=subprocess.PIPE, text=True).stdout.split("\n")[0]
    tg = subprocess.run([f"{o.build}/bin/tg-sample", "--version"], stdout=subprocess.PIPE, text=True).stdout.split("\n")[0]
    print(f"{processor()}, {o.threads} threads of {os.cpu_count()}; {tg}, {kernels}; {version('torch')}, "
          f"{version('llama-cpp-python')}, Python {platform.python_version()}; medians of {o.turns} turns\n")
    print("| Figure | tg | the others | Ratio | In turns | Best turns | MiB of tg | of the fastest other | "
          "Others |\n|---|---|---|---|---|---|---|---|---|",
          flush=True)


def parse():
    o = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    o.add_argument("build")
    o.add_argument("--threads", type=int, default=2)
    o.add_argument("--turns", type=int, default=5)
    o.add_argument("--patient", action="store_true")
    o.add_argument("--plain-malloc", action="store_true")
    o.add_argument("--lock")
    o.add_argument("words", nargs="*")
    return o.parse_intermixed_args()


def main():
    o = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("peers: stopped"))  # which removes what was made
    skipped = []
    introduce(o)
    with tempfile.TemporaryDirectory() as o.directory:
        for name, shown, makers in rows():
            if o.words and not any(word in name for word in o.words):
                continue
            try:
                with locked(o.lock):
                    run_row(o, name, shown, makers)
            except (Missing, OSError) as e:
                skipped.append(f"{name}: {e}")
    if skipped:
        print(f"\n{len(skipped)} rows skipped:", *skipped, sep="\n- ")


main()
