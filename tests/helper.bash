# What all .bats files share.  The tools come from ${TG_BUILD:-build/release}, and a
# test runs in its own empty directory.  A file with a setup() of its own calls
# tg_setup first; what several tests of a file start from is made once, in setup_file,
# after tg_fixtures.

bats_require_minimum_version 1.7.0

# The tools, and nothing of the caller's surroundings that changes what a test sees.
tg_environment() {
    ROOT=${BATS_TEST_DIRNAME%/*}
    BUILD=${TG_BUILD:-build/release}
    [[ $BUILD = /* ]] || BUILD=$ROOT/$BUILD
    if [[ ! -d $BUILD/bin ]]; then
        echo "no tools in $BUILD/bin: run make first" >&2
        return 1
    fi
    PATH=$BUILD/bin:$PATH
    unset TG_MODEL NO_COLOR
    # Threads that wait by spinning take the processors from other tests.
    export LC_ALL=C TERM=dumb
}

tg_setup() {
    tg_environment || return 1
    # A directory below, because bats puts files of its own into BATS_TEST_TMPDIR.
    mkdir -p "$BATS_TEST_TMPDIR/work"
    cd "$BATS_TEST_TMPDIR/work" || return 1
}

setup() {
    tg_setup
}

# bats waits for what a test leaves in its background, as one does that fails before it ends a long run.
teardown() {
    local left
    mapfile -t left < <(jobs -p)
    [[ ${#left[@]} = 0 ]] || kill -KILL "${left[@]}" 2> /dev/null || true
}

# The tests of this file find in $FIXTURES what setup_file makes after this.
tg_fixtures() {
    tg_environment || return 1
    export FIXTURES=$BATS_FILE_TMPDIR/fixtures
    mkdir -p "$FIXTURES"
    cd "$FIXTURES" || return 1
}

# training_fixtures OPTION...: the same, and make t.npz, 10,000 tokens, and untrained.npz, a model of 2 layers and 2 heads.
training_fixtures() {
    tg_fixtures || return 1
    # Threads that wait by spinning take the processors from each other.
    export OMP_NUM_THREADS=1
    make_text > text
    tg-tokenize text > t.npz
    tg-init --n-layer 2 --n-head 2 "$@" -o untrained.npz 2> /dev/null
}

# ---- what a test needs, or else is skipped

need() {
    command -v "$1" > /dev/null || skip "$1 is not installed"
}

need_numpy() {
    need python3
    # Looked up once for all tests of a file: to import it takes a fifth of a second of a processor.
    [[ -e $BATS_RUN_TMPDIR/numpy ]] || python3 -c 'import numpy' 2> /dev/null || skip "python3 has no NumPy"
    : > "$BATS_RUN_TMPDIR/numpy"
}

# Small presets of families after GPT-2: some that differ much, and the others.
BABIES='baby-llama baby-qwen3 baby-gemma3 baby-neox'
MORE_BABIES='baby-qwen2 baby-gemma baby-gemma2 baby-olmo2 baby-phi3 baby-stablelm baby-nanochat'

# need_judge PACKAGE: TG_JUDGE_PYTHON names a Python that has the packages to compare with.
need_judge() {
    [[ -n ${TG_JUDGE_PYTHON:-} ]] || skip "TG_JUDGE_PYTHON does not name a Python with $1"
    "$TG_JUDGE_PYTHON" -c "
import importlib.util, sys
sys.exit(importlib.util.find_spec('$1') is None)" 2> /dev/null || skip "$TG_JUDGE_PYTHON has no $1"
}

# need_data FILE: $DATA becomes its path.
need_data() {
    [[ -n ${TG_TEST_DATA:-} ]] || skip "TG_TEST_DATA does not name a directory with $1"
    [[ -r $TG_TEST_DATA/$1 ]] || skip "there is no $1 in $TG_TEST_DATA"
    DATA=$TG_TEST_DATA/$1
}

# The C tests and the programs that tests run.  Whoever names a build has made it, with flags that
# are not known here.
make_unit() {
    [[ -n ${TG_BUILD:-} ]] || make -C "$ROOT" -s unit
}

# For a test of more than about a fifth of a second of a processor, unless a change to most files needs it:
# `make check` leaves it out, `make test` does not.
slow() {
    [[ -z ${TG_QUICK:-} ]] || skip "slow: make test runs it"
}

# slow(), except for the sanitizers' build, where the test finds most.
slow_unless_sanitized() {
    [[ $BUILD = *asan* ]] || slow
}

# soak: whether a test runs its long version (make soak).
soak() {
    [[ -n ${TG_SOAK:-} ]]
}

# cases N WHAT: how much a test has tried, a comment among the results.
cases() {
    echo "# $1 $2" >&3
}

need_user() {
    [[ $(id -u) != 0 ]] || skip "root can read and write everything"
}

need_dev_full() {
    [[ -c /dev/full ]] || skip "there is no /dev/full"
}

# The sanitizers' shadow does not fit under a limit on memory.
need_plain_build() {
    [[ $BUILD != *asan* ]] || skip "the sanitizers need more memory"
}

# ---- running

# run_pipe N COMMAND: a shell pipeline that must end with status N, any part's
# failure being the whole's.
run_pipe() {
    run "-$1" --separate-stderr bash -o pipefail -c "$2"
}

# on_terminal COMMAND: run it with standard input, output and error on a terminal;
# prints what it printed and returns its status.
on_terminal() {
    need script
    SHELL=$(command -v bash) TERM=${ON_TERM:-xterm} script -qec "$1" /dev/null < /dev/null
}

# shows_on_terminal REGEX COMMAND: run the shell command with standard error on a terminal until that matches the
# (Python) expression, and kill it then; fails if it ends without.  For lines of progress.
shows_on_terminal() {
    need python3
    TERM=xterm python3 -c '
import os, pty, re, signal, subprocess, sys
main, side = pty.openpty()
child = subprocess.Popen(["bash", "-c", "exec " + sys.argv[2]], stderr=side, stdin=subprocess.DEVNULL)
os.close(side)
seen = b""
try:
    while not re.search(sys.argv[1].encode(), seen):
        seen += os.read(main, 4096)
    child.kill()
except OSError:  # it has ended
    sys.exit("not seen in: %r" % seen)
finally:
    child.wait()
' "$1" "$2"
}

# eventually COMMAND...: wait until the command succeeds.  No test depends on how long that takes; the bound, ten
# minutes, ends one that would never end.
eventually() {
    local i
    for ((i = 0; i < 12000; i++)); do
        ! "$@" || return 0
        sleep 0.05
    done
    echo "never came true: $*"
    return 1
}

# killed_after_save FILE COMMAND...: run it in the background, and kill it when FILE exists.
killed_after_save() {
    "${@:2}" &
    local child=$!
    eventually test -e "$1"
    kill -KILL $child || true
    wait $child || true
}

# taken: wait until the reader of the pipe on standard output has taken all that was written to it.
taken() {
    python3 -c '
import fcntl, struct, termios, time
while struct.unpack("i", fcntl.ioctl(1, termios.FIONREAD, b"0000"))[0] > 0:
    time.sleep(0.01)'
}

# filled: wait until the pipe on standard input is full, for ten minutes at most; prints how many bytes it holds.
filled() {
    python3 -c '
import fcntl, os, select, time
pipe = os.open("/proc/self/fd/0", os.O_WRONLY | os.O_NONBLOCK)
full = select.poll()
full.register(pipe, select.POLLOUT)
for i in range(60000):
    if not full.poll(0):
        break
    time.sleep(0.01)
print(fcntl.fcntl(pipe, getattr(fcntl, "F_GETPIPE_SZ", 1032)))'
}

# mapped FILE: whether a process of one of the tools has the file in its memory.
mapped() {
    grep -qsF "$PWD/$1" /proc/[0-9]*/maps
}
export -f eventually taken filled mapped

# ---- documents

# docs/NAME.md and docs/NAME.zh-CN.md of each.
GUIDES=(walkthrough indexing multi-head shapes autograd from-text-to-tokens checkpoints from-gpt2-to-llama what-a-head-writes which-head-matters fine-tuning)

# What the documents' commands may take as given, a file text and a trained model.npz, in
# $MODEL_DIR.  Called from setup_file; made once for all files.
make_docs_model() {
    tg_environment || return 1
    export MODEL_DIR=$BATS_SUITE_TMPDIR/docs-model
    [[ ! -d $MODEL_DIR ]] || return 0
    mkdir "$MODEL_DIR"
    cd "$MODEL_DIR" || return 1
    head -c 50000 "$ROOT/docs/numerics.md" "$ROOT/formats/README.md" -q > text
    tg-tokenize < text | tg-train --steps 30 2> /dev/null
}

# A model, ab.npz, that has learned lines of "a b", in which " b" is a token.
spaced_model() {
    yes 'a b' | head -c 4000 > ab
    tg-bpe -q -n 258 -o ab-bpe.npz ab
    tg-tokenize -t ab-bpe.npz ab | tg-train -q -m ab.npz -n 60
}

# ---- checks

# converted: the last line of tg-convert's standard error says what was written; without it the rest is as before.
converted() {
    if [[ ! ${stderr_lines[-1]} =~ ^tg-convert:\ .*:\ .*[0-9]\ (parameters|tokens?)(,\ [0-9.]+\ [KMG]?i?B)?$ ]]; then
        echo "expected a line about what was written"
        echo "standard error was: $stderr"
        return 1
    fi
    unset 'stderr_lines[-1]'
    stderr=$(printf '%s\n' "${stderr_lines[@]}")
}

# said TEXT: standard error of the last run is one line, and contains TEXT.
# (Compare as text, not as a pattern.)
said() {
    if [[ ${#stderr_lines[@]} != 1 || $stderr != *"$1"* ]]; then
        echo "expected one line with: $1"
        echo "standard error was: $stderr"
        return 1
    fi
}

# is_output TEXT: standard output of the last run is TEXT.
is_output() {
    if [[ $output != "$1" ]]; then
        echo "expected: $1"
        echo "output was: $output"
        return 1
    fi
}

# ---- files

# A text of N bytes (default 10,000) that does not repeat itself soon.
make_text() {
    awk 'BEGIN { for (i = 0; ; i++) printf "line %d: the quick brown fox, %d jumps\n", i, i * i % 9973 }' |
        head -c "${1:-10000}" || true
}

# All 256 byte values, in order.
make_all_bytes() {
    local i
    for i in {0..255}; do
        # shellcheck disable=SC2059
        printf "\\x$(printf %02x "$i")"
    done
}

# flip FILE OFFSET [BIT]: invert a bit in place.
flip() {
    local old
    old=$(od -An -tu1 -j "$2" -N 1 "$1")
    # shellcheck disable=SC2059
    printf "\\x$(printf %02x $((old ^ 1 << ${3:-0})))" |
        dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# size FILE: in bytes.
size() {
    wc -c < "$1" | tr -d ' '
}

# has_bytes FILE N: whether it has at least as many.
has_bytes() {
    [[ $(size "$1") -ge $2 ]]
}

# npz FILE: write an .npz as another program might, of the arrays on standard
# input, one a line: NAME DTYPE SHAPE VALUE..., where SHAPE is like 2,3 or - for a
# scalar, and DTYPE is like u1, i8, f4 or S.
npz() {
    need python3
    python3 -c '
import struct, sys, zipfile
code = {"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i1": "b", "i2": "h", "i4": "i", "i8": "q",
        "f4": "f", "f8": "d"}
with zipfile.ZipFile(sys.argv[1], "w") as z:
    for line in sys.stdin:
        name, dtype, shape, *values = line.split()
        if dtype == "S":
            data = values[0].encode()
            descr = "|S%d" % len(data)
        else:
            number = float if dtype[0] == "f" else int
            data = b"".join(struct.pack("<" + code[dtype], number(v)) for v in values)
            descr = ("|" if dtype[1] == "1" else "<") + dtype
        dims = "()" if shape == "-" else "(" + shape + ("," if "," not in shape else "") + ")"
        text = "{\x27descr\x27: \x27%s\x27, \x27fortran_order\x27: False, \x27shape\x27: %s, }" % (descr, dims)
        text += " " * (-(11 + len(text)) % 64) + "\n"
        z.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data)
' "$1"
}

# change_npz FROM TO PYTHON [ARGUMENT...]: a copy of an .npz, changed by a statement of Python.  It has the
# arrays' names and bytes of .npy in `members`, the arguments in `arguments`, and fill(), which sets float32
# elements.
change_npz() {
    need python3
    python3 -c '
import struct, sys, zipfile
source, target, statement, *arguments = sys.argv[1:]
with zipfile.ZipFile(source) as z:
    members = {name[:-4]: z.read(name) for name in z.namelist()}
def fill(name, value, begin=0, end=None):
    data = members[name]
    head = 10 + struct.unpack("<H", data[8:10])[0]
    end = (len(data) - head) // 4 if end is None else end
    members[name] = data[:head + 4 * begin] + struct.pack("<f", value) * (end - begin) + data[head + 4 * end:]
exec(statement)
with zipfile.ZipFile(target, "w") as z:
    for name, data in members.items():
        z.writestr(name + ".npy", data)
' "$@"
}

# names FILE: the arrays in an .npz, one a line.
names() {
    need python3
    python3 -c '
import sys, zipfile
for name in zipfile.ZipFile(sys.argv[1]).namelist():
    print(name[:-4] if name.endswith(".npy") else name)
' "$1"
}

# scalars FILE NAME...: the values of scalars <i8, <f8 or |S in an .npz, one a line.
scalars() {
    need python3
    python3 -c '
import ast, struct, sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
for name in sys.argv[2:]:
    raw = z.read(name + ".npy")
    end = 10 + struct.unpack("<H", raw[8:10])[0]
    head = ast.literal_eval(raw[10:end].decode())
    assert head["shape"] == (), head
    kind = head["descr"]
    if kind[1] == "S":
        print(raw[end:].rstrip(b"\0").decode())
    else:
        print(*struct.unpack({"<i8": "<q", "<f8": "<d"}[kind], raw[end:]))
' "$@"
}
