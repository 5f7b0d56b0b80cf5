load helper

# A model of 2 layers, 2 heads, 32 channels and 16 positions, and 10,000 tokens; and what
# runs of 120 and 240 steps that were never stopped make of it.
setup_file() {
    training_fixtures --n-embd 32 --n-ctx 16
    local steps lengths=(120)
    [[ -n ${TG_QUICK:-} ]] || lengths+=(240) # for slow tests
    for steps in "${lengths[@]}"; do
        cp untrained.npz whole-$steps.npz
        stopped_run $steps
        "${COMMAND[@]}" -m whole-$steps.npz 2> /dev/null
        [[ $(step_of whole-$steps.npz) = "$steps" ]]
    done
}

setup() {
    tg_setup
    cp "$FIXTURES"/{text,t.npz,untrained.npz} .
    cp untrained.npz model.npz
}

# The run of so many steps that tests stop.
stopped_run() {
    COMMAND=(tg-train --threads 2 -b 4 -n "$1" --dropout 0.1 --eval-every 50 --save-every 20 t.npz)
}

# quick ARGUMENT...: train on 4 sequences to a step, silently.  The FILE of -o is made anew.
quick() {
    local i
    for ((i = 1; i < $#; i++)); do
        [[ ${!i} != -o ]] || rm -f "${@:i + 1:1}"
    done
    tg-train -b 4 "$@" 2> quick.err || {
        cat quick.err
        return 1
    }
}

# says TEXT: a line of the last run's standard error is TEXT, or begins so when TEXT ends in "...".
says() {
    local line
    for line in "${stderr_lines[@]}"; do
        [[ $line = "$1" || ($1 = *... && $line = "${1%...}"*) ]] && return 0
    done
    echo "expected a line: $1"
    echo "standard error was: $stderr"
    return 1
}

# signalled STEP HOW SIGNAL... -- COMMAND...: run it, and send it the signals once its log
# has STEP lines.  The log is a pipe that holds few lines, so that the command cannot be
# far ahead of them, and cannot be done.  HOW is drain: read the rest of the log then; or
# stuck: wait until the command is blocked in writing it, and leave it so; or stuck+drain.  Each signal is
# sent when the one before has been delivered; a number among them is seconds to wait.  Returns the command's status as a shell does,
# and 99 where WITHIN has a number and the signals took longer than so many seconds.
signalled() {
    need python3
    [[ $(uname) = Linux ]] || skip "pipes of a chosen size are Linux's"
    python3 -c '
import fcntl, os, signal, struct, subprocess, sys, termios, time
cut = sys.argv.index("--")
lines, how, signals, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:cut], sys.argv[cut + 1:]
r, w = os.pipe()
fcntl.fcntl(w, 1031, 4096)  # F_SETPIPE_SZ
# a shell that runs the tests in the background has its children ignore SIGINT, and nohup SIGHUP
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
child = subprocess.Popen(command + ["--log", "/dev/fd/%d" % w], pass_fds=[w])
os.close(w)
log = os.fdopen(r, "rb", buffering=0)
for _ in range(lines + 1):  # the first is the header
    assert log.readline(), "the command ended early"
def waiting():
    return struct.unpack("i", fcntl.ioctl(r, termios.FIONREAD, b"0000"))[0]
def asleep():  # not a thread of the command wants a processor
    tasks = "/proc/%d/task" % child.pid
    return all("\nState:\tS" in open("%s/%s/status" % (tasks, task)).read() for task in os.listdir(tasks))
before, same = -1, 0
while how.startswith("stuck") and same < 8:  # full, and stays so
    now = waiting()
    # what was read of the page that the pipe holds is not free yet: up to 26 lines
    same = same + 1 if asleep() and now == before and now > 2000 else 0
    before = now
    time.sleep(0.05)
start = time.monotonic()
for name in signals:
    if name[0].isdigit():
        time.sleep(float(name))
        continue
    child.send_signal(getattr(signal, name))
    for _ in range(1000):
        status = open("/proc/%d/status" % child.pid).read()
        pending = [line.split()[1] for line in status.splitlines() if line.startswith(("SigPnd", "ShdPnd"))]
        if not any(int(p, 16) for p in pending) or "\nState:\tZ" in status:
            break
        time.sleep(0.005)
if time.monotonic() - start > float(os.environ.get("WITHIN", "inf")):
    child.kill()
    sys.exit(99)
if how.endswith("drain"):
    log.read()
code = child.wait(600)
sys.exit(code if code >= 0 else 128 - code)
' "$@"
}

# step_of MODEL
step_of() {
    scalars "$1" train/step
}

# ---- new, continued, complete

@test "a new default model is made, and said" {
    rm model.npz
    run_pipe 0 'tg-tokenize < text | tg-train -n 2 -b 2'
    is_output ""
    [[ ${stderr_lines[0]} = "tg-train: model.npz: a new model, 4 layers, 4 heads, width 128, context 64" ]]
    says "tg-train: 834,304 parameters, 10,000 tokens (9,000 to train, 1,000 to validate), needs "...
    says "tg-train: step 2: loss "...
    [[ ${stderr_lines[-1]} = "tg-train: saved model.npz at step 2 of 2" ]]
    run -0 scalars model.npz kind config/n_layer train/step
    is_output "model
4
2"
    python3 -m zipfile -t model.npz
}

@test "--context is a new model's context" {
    run -0 --separate-stderr tg-train -m new.npz -n 1 -b 2 --context 24 t.npz
    says "tg-train: new.npz: a new model, 4 layers, 4 heads, width 128, context 24"
    [[ $(scalars new.npz config/n_ctx) = 24 ]]
}

@test "--context 0 is the model's context, also where the run had another" {
    quick -n 2 -c 8 t.npz
    run -0 --separate-stderr tg-train -n 4 -c 0 t.npz
    [[ $(scalars model.npz train/context) = 16 ]]
    tg-train -m new.npz -n 1 -b 2 -c 0 t.npz 2> /dev/null
    [[ $(scalars new.npz train/context) = 64 ]]
}

@test "a step that a greater number of steps would make too many" {
    need python3
    quick -n 2 t.npz
    cp model.npz good.npz
    # a run that is complete, as far as runs go
    changed "members['train/step'] = members['train/step'][:-8] + struct.pack('<q', (1 << 40) - 1)"
    run -0 --separate-stderr tg-train t.npz
    said "to continue: tg-train --steps 2199023255550 t.npz"
    run -2 --separate-stderr tg-train -n 1000000000000 -b 4 t.npz
    cmp model.npz before.npz
}

@test "an untrained model is trained, a trained one continues, and both are said" {
    run -0 --separate-stderr tg-train -n 3 t.npz
    [[ ${stderr_lines[0]} = "tg-train: model.npz: an untrained model" ]]
    says "tg-train: 34,176 parameters, 10,000 tokens (9,000 to train, 1,000 to validate), needs "...
    says "tg-train: saved model.npz at step 3 of 3"
    run -0 --separate-stderr tg-train -n 5 t.npz
    [[ ${stderr_lines[0]} = "tg-train: --steps was 3, is now 5" ]]
    [[ ${stderr_lines[1]} = "tg-train: model.npz: resuming at step 3 of 5" ]]
    says "tg-train: saved model.npz at step 5 of 5"
    [[ $(step_of model.npz) = 5 ]]
}

@test "a complete run says so and how to resume, and changes nothing" {
    local before
    quick -n 4 t.npz
    cp model.npz want.npz
    before=$(stat -c '%i %Y %Z' model.npz)
    run -0 --separate-stderr tg-train t.npz
    is_output ""
    said "tg-train: model.npz is complete: 4 of 4 steps are done; to continue: tg-train --steps 8 t.npz"
    run -0 --separate-stderr tg-train -n 4 -m model.npz --log log.tsv t.npz
    said "tg-train: model.npz is complete: 4 of 4 steps are done; to continue: tg-train -m model.npz --steps 8 t.npz"
    run -0 --separate-stderr tg-train -n 2 t.npz
    said "tg-train: model.npz is complete: 4 steps are done, --steps asks for 2; to continue: tg-train --steps 8 t.npz"
    run_pipe 0 'tg-train < t.npz'
    said "tg-train: model.npz is complete: 4 of 4 steps are done; to continue: tg-train --steps 8"
    cmp model.npz want.npz
    [[ $(stat -c '%i %Y %Z' model.npz) = "$before" && ! -e log.tsv ]]
    # with -o the model is there, as whoever asked for it expects, and as it was, whatever is given
    make_text 9000 | tg-tokenize > other.npz
    run -0 --separate-stderr tg-train -o out.npz -n 3 --lr 1 other.npz
    [[ ${#stderr_lines[@]} = 2 ]]
    says "tg-train: model.npz is complete: 4 steps are done, --steps asks for 3; to continue: tg-train -o out.npz --steps 8 other.npz"
    says "tg-train: saved out.npz at step 4 of 4"
    cmp out.npz want.npz
    run -0 --separate-stderr tg-train -o out.npz t.npz
    said "tg-train: out.npz is complete: 4 of 4 steps are done; to continue: tg-train -o out.npz --steps 8 t.npz"
    cmp out.npz want.npz
    # and so it is on standard output
    tg-train -m - t.npz < model.npz > out2.npz 2> /dev/null
    cmp out2.npz want.npz
    tg-train -o - t.npz > out2.npz 2> /dev/null
    cmp out2.npz want.npz
    tg-train --steps 8 t.npz 2> /dev/null
    [[ $(step_of model.npz) = 8 ]]
}

@test "settings are kept with the run, and a changed one is said" {
    quick -n 4 -s 7 --lr 5e-4 --dropout 0.1 -c 8 t.npz
    run -0 --separate-stderr tg-train -n 6 t.npz
    [[ $stderr != *"--seed"* && $stderr != *"--lr"* && $stderr != *"--batch"* && $stderr != *"--context"* ]]
    run -0 scalars model.npz train/lr train/dropout train/batch train/context train/steps
    is_output "0.0005
0.1
4
8
6"
    run -0 --separate-stderr tg-train -n 8 -s 7 --lr 1e-3 -b 5 t.npz
    says "tg-train: --steps was 6, is now 8"
    says "tg-train: --lr was 0.0005, is now 0.001"
    says "tg-train: --batch was 4, is now 5"
    [[ $stderr != *"--seed"* ]]
    [[ $(scalars model.npz train/lr) = 0.001 ]]
}

@test "--lr leaves a --min-lr that was chosen" {
    slow_unless_sanitized
    quick -n 2 --lr 1e-3 --min-lr 5e-4 t.npz
    run -0 --separate-stderr tg-train -n 3 --lr 1e-3 t.npz
    [[ $(scalars model.npz train/min_lr) = 0.0005 && $stderr != *"--min-lr"* && $stderr != *"--lr"* ]]
    run -0 --separate-stderr tg-train -n 4 --lr 2e-3 t.npz
    says "tg-train: --lr was 0.001, is now 0.002"
    [[ $(scalars model.npz train/min_lr) = 0.0005 && $stderr != *"--min-lr"* ]]
    # one that was not follows
    quick -n 2 -m other.npz t.npz
    run -0 --separate-stderr tg-train -n 3 --lr 1e-3 -m other.npz t.npz
    says "tg-train: --min-lr was 0.0004, is now 0.0001, a tenth of --lr"
    [[ $(scalars other.npz train/min_lr) = 0.0001 ]]
}

@test "another text is said" {
    quick -n 2 t.npz
    run -0 --separate-stderr tg-train -n 4 t.npz
    [[ $stderr != *"the text is not"* ]]
    make_text 9000 | tg-tokenize > other.npz
    run -0 --separate-stderr tg-train -n 6 other.npz
    says "tg-train: the text differs from the run's: 9,000 tokens, 10,000 before"
    tr e E < text | head -c 9000 | tg-tokenize > other.npz # as long as before
    run -0 --separate-stderr tg-train -n 8 other.npz
    says "tg-train: the text differs from the run's: other tokens, the same number"
}

# ---- exactness

@test "the number of threads does not change a byte" {
    slow
    local n options
    # so large that the threads also share attention, and not in equal parts
    tg-init --n-layer 2 --n-head 4 --n-embd 64 --n-ctx 64 -o untrained.npz 2> /dev/null
    for options in "" "--dropout 0.2 --accumulate 3 -b 3 -c 37" "-b 3 --clip 0 -c 61"; do
        # shellcheck disable=SC2086
        quick -m untrained.npz -o want.npz -n 3 --threads 1 $options t.npz
        for n in 2 3 4; do
            # shellcheck disable=SC2086
            quick -m untrained.npz -o got.npz -n 3 --threads $n $options t.npz
            cmp got.npz want.npz
        done
    done
    quick -m none.npz -o want.npz -n 2 --threads 1 --dropout 0.1 t.npz
    for n in 2 3 4; do
        quick -m none.npz -o got.npz -n 2 --threads $n --dropout 0.1 t.npz
        cmp got.npz want.npz
    done
}

@test "the same seed gives the same bytes, another seed others" {
    slow_unless_sanitized
    quick -m none.npz -o a.npz -n 2 -s 5 t.npz
    quick -m none.npz -o b.npz -n 2 -s 5 t.npz
    cmp a.npz b.npz
    quick -m none.npz -o c.npz -n 2 -s 18446744073709551615 t.npz
    run -1 cmp -s a.npz c.npz
    # the weights differ, and so does the order of the text for the same weights
    quick -o a.npz -n 3 -s 5 --log a.tsv t.npz
    quick -o c.npz -n 3 -s 6 --log c.tsv t.npz
    run -1 cmp -s a.npz c.npz
    [[ $(cut -f 2 a.tsv) != "$(cut -f 2 c.tsv)" ]]
    # dropout, accumulation and batch count too
    quick -o a.npz -n 3 t.npz
    quick -o c.npz -n 3 --dropout 0.1 t.npz
    run -1 cmp -s a.npz c.npz
}

@test "a run of --accumulate 2 is nearly one of twice the batch" {
    tg-train -o a.npz -n 10 -b 8 -a 1 --log a.tsv t.npz 2> /dev/null
    tg-train -o b.npz -n 10 -b 4 -a 2 --log b.tsv t.npz 2> /dev/null
    # the same windows; sums in another order.  1e-4 is a thousand units in the last
    # place of a float32 loss near 5
    paste <(cut -f 2 a.tsv) <(cut -f 2 b.tsv) | tail -n +2 |
        awk '{ d = $1 - $2; n++; if (d * d > 1e-8) bad = 1 } END { exit bad || n != 10 }'
}

@test "a program that trains with the library alone makes the same file" {
    slow_unless_sanitized
    make_unit
    unset TG_ISA
    tg-train -m tool.npz -n 3 t.npz 2> /dev/null
    "$BUILD/unit/train_alone" t.npz 3 > library.npz
    cmp tool.npz library.npz
    # with the probe, which tg-attn-dump shows when it gets no text
    run -0 --separate-stderr tg-attn-dump -m library.npz
    run -1 "$BUILD/unit/train_alone" t.npz 0
}

@test "the loss goes down" {
    slow
    tg-train -n 150 --warmup 10 --log log.tsv t.npz 2> /dev/null
    awk -F '\t' 'NR == 2 { first = $2 } END { exit !(first > 5.4 && $2 < 3 && $3 < 3) }' log.tsv
}

# ---- Muon

# hidden FILE: the matrices of the blocks in an archive, one a line.
hidden() {
    names "$1" | grep -E '^h\.[0-9]+\.(attn|mlp)\.c_(attn|proj|fc)\.weight$'
}

@test "--optimizer muon: the loss goes down" {
    slow
    tg-train -n 150 --warmup 10 --optimizer muon --log log.tsv t.npz 2> /dev/null
    awk -F '\t' 'NR == 2 { first = $2 } END { exit !(first > 5.4 && $2 < 1.5 && $3 < 1.5) }' log.tsv
}

@test "--optimizer adamw is the default, and is not written" {
    need python3
    quick -o a.npz -n 3 t.npz
    quick -o b.npz -n 3 --optimizer adamw t.npz
    cmp a.npz b.npz
    run -1 grep -E '^train/(optimizer|momentum)$' <(names a.npz)
}

@test "--optimizer muon: the run keeps its settings; a second moment only of what AdamW updates" {
    slow_unless_sanitized
    need python3
    quick -n 2 --optimizer muon --momentum 0.9 t.npz
    [[ $(hidden model.npz | wc -l) = 8 ]]
    names model.npz | grep -vE '/|^kind$|^version$' | sort > parameters
    hidden model.npz | sort > matrices
    names model.npz | sed -n 's|^opt/m/||p' | sort | cmp - parameters
    names model.npz | sed -n 's|^opt/v/||p' | sort | cmp - <(comm -23 parameters matrices)
    tg-info model.npz | grep -qx 'optimizer   48 arrays, .*'
    run -0 scalars model.npz train/optimizer train/momentum
    is_output "muon
0.9"
    run -0 --separate-stderr tg-train -n 4 t.npz
    [[ $stderr != *"--optimizer"* && $stderr != *"--momentum"* ]]
    run -0 --separate-stderr tg-train -n 6 --momentum 0.8 t.npz
    says "tg-train: --momentum was 0.9, is now 0.8"
    run -0 scalars model.npz train/optimizer train/momentum train/step
    is_output "muon
0.8
6"
}

@test "--optimizer muon: --momentum is its own, and --beta1, --clip and --weight-decay are also for it" {
    local options
    quick -o a.npz -n 3 --optimizer muon t.npz
    quick -o b.npz -n 3 --optimizer muon --momentum 0.95 t.npz
    cmp a.npz b.npz
    for options in "--momentum 0.5" "--momentum 0" "--beta1 0.5" "--clip 0.1" "--weight-decay 0.5"; do
        # shellcheck disable=SC2086
        quick -o b.npz -n 3 --optimizer muon $options t.npz
        run -1 cmp -s a.npz b.npz
    done
}

@test "--first-context: shorter sequences until the rate falls, saved with the run; not of documents" {
    quick -o a.npz -n 6 --decay 2 -c 16 --first-context 4 -b 3 t.npz
    OMP_NUM_THREADS=3 quick -o b.npz -n 6 --decay 2 -c 16 --first-context 4 -b 3 t.npz
    cmp a.npz b.npz
    quick -o other.npz -n 6 --decay 2 -c 16 -b 3 t.npz
    run -1 cmp -s a.npz other.npz
    quick -o b.npz -n 4 --decay 2 -c 4 -b 12 t.npz # the same begins
    [[ $(tg-info --losses -f tsv a.npz | sed -n 2,4p) = "$(tg-info --losses -f tsv b.npz | sed -n 2,4p)" ]]
    run -0 tg-info a.npz
    [[ $output = *"first_context 4"* ]]
    run -2 --separate-stderr tg-train -m untrained.npz -o c.npz -n 6 --first-context 4 t.npz
    said 'a first context of 4 tokens, but no decay: it ends where the learning rate begins to fall'
    run -2 --separate-stderr tg-train -m untrained.npz -o c.npz -n 6 --decay 2 --first-context 5 t.npz
    said 'a context of 16 is not a multiple of the first one, 5'
    printf '{"prompt": "a", "completion": "b"}\n' | tg-tokenize -q --prompt-completion > masked.npz
    run -1 --separate-stderr tg-train -m untrained.npz -o c.npz -n 6 --decay 2 --first-context 4 masked.npz
    said 'a first context of 4 tokens, but the text has a loss mask'
}

@test "--average: the last steps' mean, saved with the run; the same from any number of threads" {
    need python3
    quick -o a.npz -n 6 --average 3 t.npz
    OMP_NUM_THREADS=3 quick -o b.npz -n 6 --average 3 t.npz
    cmp a.npz b.npz
    [[ $(scalars a.npz train/average) = 3 ]]
    run -1 grep '^opt/a/' <(names a.npz)
    quick -o none.npz -n 6 t.npz
    run -1 grep '^train/average' <(names none.npz)
    python3 -c 'import sys, zipfile
a, b = (zipfile.ZipFile(f).read("wte.weight.npy") for f in sys.argv[1:])
sys.exit(a == b)' a.npz none.npz
    run -0 tg-info a.npz
    [[ $output = *"average 3"* ]]
    # a complete run that goes on has a mean of its new last steps, of all of them if they are fewer
    run -0 --separate-stderr tg-train -m a.npz -n 8 -b 4 t.npz
    [[ $stderr = *"tg-train: --average was 3, is now 2"* && $stderr != *"a tenth"* ]]
    run -2 --separate-stderr tg-train -m untrained.npz -o c.npz -n 6 --average 7 t.npz
    said 'a mean of the last 7 of 6 steps, expected at most as many'
    run -2 --separate-stderr tg-train -m untrained.npz -o c.npz -n 6 --average 2 --master bf16 t.npz
    said 'a mean of the last steps is of float32 parameters: master is bf16'
}

@test "--average: a run that was stopped resumes, byte for byte, also of an adapter or with frozen weights" {
    slow_unless_sanitized
    need python3
    local options
    for options in "" "--lora 2" "--optimizer muon" "--freeze embedding"; do
        # shellcheck disable=SC2206 # options are words
        COMMAND=(tg-train -m untrained.npz -o model.npz --threads 2 -b 4 -n 60 --average 55 $options --save-every 0 t.npz)
        rm -f model.npz
        "${COMMAND[@]}" 2> /dev/null
        mv model.npz whole.npz
        run -130 --separate-stderr signalled 10 drain SIGINT -- "${COMMAND[@]}"
        [[ $(names model.npz | grep -c '^opt/a/') = $(names model.npz | grep -c '^opt/m/') ]]
        run -2 --separate-stderr tg-train -m untrained.npz -o model.npz --average 54 $options t.npz
        [[ $stderr = *"it is too late to begin a mean of the last 54 of 60 steps"* ]]
        run -0 --separate-stderr "${COMMAND[@]}" --threads 1
        cmp model.npz whole.npz
    done
}

@test "--average: a mean that is incomplete, or of another step, is refused" {
    slow_unless_sanitized
    need python3
    COMMAND=(tg-train -m untrained.npz -o model.npz -b 4 -n 60 --average 55 --save-every 0 t.npz)
    run -130 --separate-stderr signalled 10 drain SIGINT -- "${COMMAND[@]}"
    mv model.npz good.npz
    changed "del members['opt/a/h.0.mlp.c_fc.weight']"
    refused "steps has 27 arrays at step $(step_of good.npz), expected 28"
    changed "del members['train/average']"
    refused "has 28 arrays at step $(step_of good.npz), expected 0"
    changed "fill('opt/a/wte.weight', float('nan'))"
    refused "opt/a/wte.weight[0] is nan"
    changed "members['opt/a/wte.weight'] = members['opt/a/wpe.weight']"
    refused "opt/a/wte.weight has "
}

@test "--optimizer muon: the number of threads does not change a byte, with any instruction set" {
    slow
    local isa n options sets=("" portable avx2 avx512 avx512bf16 amx neon) tried=0
    # matrices of several shapes, so that threads have unequal parts; heads that share keys
    tg-init -P baby-llama --n-layer 3 --n-head 4 --n-kv-head 2 --n-embd 64 --n-ctx 32 -o llama.npz 2> /dev/null
    for isa in "${sets[@]}"; do # those that this machine has
        TG_ISA=$isa tg-train -m untrained.npz -o got.npz -n 1 -b 2 t.npz 2> /dev/null || continue
        for options in "-m untrained.npz" "-m llama.npz --accumulate 3 --dropout 0.1" "-m llama.npz --precision bf16"; do
            for n in 1 2 3; do
                # shellcheck disable=SC2086
                TG_ISA=$isa quick -o $n.npz -n 4 --optimizer muon --threads $n $options t.npz
            done
            cmp 1.npz 2.npz
            cmp 1.npz 3.npz
            tried=$((tried + 1))
        done
        rm got.npz
    done
    cases $tried "models, for each instruction set"
    [[ $tried -ge 6 ]]
}

@test "--optimizer muon: a run that was stopped resumes, byte for byte" {
    slow_unless_sanitized
    local at
    COMMAND=(tg-train --threads 2 -b 4 -n 100 --optimizer muon --dropout 0.1 --eval-every 50 --save-every 0 t.npz)
    "${COMMAND[@]}" -o whole.npz 2> /dev/null
    run -130 --separate-stderr signalled 10 drain SIGINT -- "${COMMAND[@]}"
    at=$(step_of model.npz)
    [[ $at -ge 10 && $at -lt 100 ]]
    run -0 --separate-stderr "${COMMAND[@]}" --threads 1
    says "tg-train: model.npz: resuming at step $at of 100"
    cmp model.npz whole.npz
}

@test "--optimizer muon: a state that is incomplete, or another optimizer's, is refused" {
    slow_unless_sanitized
    need python3
    quick -n 2 --optimizer muon t.npz
    cp model.npz good.npz
    changed '' # the archive of another program
    quick -n 4 t.npz
    changed "del members['opt/m/h.0.mlp.c_fc.weight']"
    refused "the optimizer's state has 47 of 48 arrays at step 2"
    changed "del members['opt/v/wte.weight']"
    refused "the optimizer's state has 47 of 48 arrays at step 2"
    changed "members['opt/v/h.0.mlp.c_fc.weight'] = bytes(members['opt/m/h.0.mlp.c_fc.weight'])
fill('opt/v/h.0.mlp.c_fc.weight', 0)"
    refused "the optimizer's state has arrays opt/v/ of matrices that muon updates: 1, expected none"
    # as many as there should be, but not the same
    changed "members['opt/v/h.0.mlp.c_fc.weight'] = members.pop('opt/m/h.0.mlp.c_fc.weight')
fill('opt/v/h.0.mlp.c_fc.weight', 0)"
    refused "the optimizer's state has arrays opt/v/ of matrices that muon updates: 1, expected none"
    changed "del members['train/optimizer']" # then it is AdamW's
    refused "the optimizer's state has 48 of 56 arrays at step 2"
    changed "members['train/optimizer'] = members['train/optimizer'].replace(b'muon', b'sgd\0')"
    refused "train/optimizer"
    changed "members['train/momentum'] = members['train/momentum'][:-8] + struct.pack('<d', 1)"
    refused "momentum must be between 0 and 0.999999, got 1"
}

@test "a run keeps its optimizer, and a momentum is refused where there is none" {
    local a b
    for a in adamw muon; do
        b=$([[ $a = muon ]] && echo adamw || echo muon)
        rm model.npz
        quick -n 2 -m untrained.npz -o model.npz --optimizer $a t.npz
        cp model.npz before.npz
        run -2 --separate-stderr tg-train -n 4 --optimizer $b t.npz
        said "tg-train: the run has optimizer $a: after 2 steps it cannot go on with $b"
        cmp model.npz before.npz
    done
    cp untrained.npz model.npz
    run -2 --separate-stderr tg-train -n 2 --momentum 0.9 t.npz
    said "tg-train: momentum is for optimizer muon; the run has adamw"
    run -2 --separate-stderr tg-train -n 2 --optimizer sgd t.npz
    said "tg-train: --optimizer must be one of adamw|muon, got 'sgd'"
    run -2 --separate-stderr tg-train -n 2 --optimizer muon --momentum 1 t.npz
    said "tg-train: --momentum must be between 0 and 0.999999, got 1"
    cmp model.npz untrained.npz
}

# ---- stopping and resuming

# stoppable [STEPS]: COMMAND runs 120 steps, or so many; whole.npz is what a run that was
# never stopped gives.
stoppable() {
    stopped_run "${1:-120}"
    cp "$FIXTURES/whole-${1:-120}.npz" whole.npz
}

@test "SIGINT saves, says so and exits 130; the same command finishes, byte for byte" {
    slow
    local at
    stoppable
    run -130 --separate-stderr signalled 10 drain SIGINT -- "${COMMAND[@]}"
    is_output ""
    at=$(step_of model.npz)
    [[ $at -ge 10 && $at -lt 120 ]]
    says "tg-train: finishing this step, then saving; again to stop now"
    [[ ${stderr_lines[-2]} = "tg-train: saved model.npz at step $at of 120" ]]
    [[ ${stderr_lines[-1]} = "tg-train: to resume: tg-train --threads 2 -b 4 -n 120 "* ]]
    run -0 --separate-stderr "${COMMAND[@]}"
    [[ ${stderr_lines[0]} = "tg-train: model.npz: resuming at step $at of 120" ]]
    cmp model.npz whole.npz
    run -0 ls -A
    [[ $output != *.tmp* ]]
}

@test "SIGTERM, more than once: 143 each time, and the end is the same" {
    slow
    local at
    stoppable 240
    for at in 1 2 7; do
        run -143 --separate-stderr signalled $at drain SIGTERM -- "${COMMAND[@]}"
        [[ ${stderr_lines[-2]} = "tg-train: saved model.npz at step "* ]]
        [[ $(step_of model.npz) -lt 240 ]]
    done
    "${COMMAND[@]}" --threads 1 2> /dev/null
    cmp model.npz whole.npz
}

@test "SIGHUP stops like SIGTERM, with 129" {
    slow_unless_sanitized
    stoppable
    run -129 --separate-stderr signalled 5 drain SIGHUP -- "${COMMAND[@]}"
    [[ ${stderr_lines[-2]} = "tg-train: saved model.npz at step "* ]]
    "${COMMAND[@]}" 2> /dev/null
    cmp model.npz whole.npz
}

@test "a second signal within a second is the same request" {
    slow
    local i
    for i in {1..20}; do
        stoppable
        WITHIN=1 run --separate-stderr signalled 5 stuck+drain SIGTERM SIGTERM SIGTERM -- "${COMMAND[@]}"
        [[ $status = 99 ]] || break
    done
    [[ $status != 99 ]] || skip "three signals took more than a second, twenty times"
    [[ $status = 143 ]]
    [[ ${stderr_lines[-2]} = "tg-train: saved model.npz at step "* ]]
    [[ $(step_of model.npz) -ge 5 ]]
    "${COMMAND[@]}" 2> /dev/null
    cmp model.npz whole.npz
}

has_ended() {
    ! kill -0 $child 2> /dev/null
}

# is_delivered NUMBER: whether no such signal waits for the child any more.
is_delivered() {
    local pending
    for pending in $(sed -n 's/^S[ih][gd]Pnd:[^0-9a-f]*//p' "/proc/$child/status"); do
        (( (16#$pending >> ($1 - 1) & 1) == 0 )) || return 1
    done
}

# begun COMMAND...: run it in the background, its messages in err; returns when it is within a step, of which
# it prints a status line.
begun() {
    rm -f err
    "$@" <&0 2> err 3>&- &
    child=$!
    eventually grep -qs ' needs ' err
    kill -USR1 $child
    eventually grep -q '^tg-train: step ' err
}

# is_past STEP: whether a status line of the child shows a part of the step after STEP.
is_past() {
    kill -USR1 $child
    grep -q "^tg-train: step $1/[0-9]* + " err
}

# abandon: a second SIGTERM, more than a second after the first, ends the child within its step.
abandon() {
    local status=0
    kill -TERM $child
    eventually grep -q '^tg-train: finishing' err
    sleep 1.1
    kill -TERM $child
    eventually has_ended
    wait $child || status=$?
    [[ $status = 143 ]]
}

# The steps of 65,536 passes would take minutes.
@test "a long step: the first signal is answered at once, the second one abandons the step" {
    slow_unless_sanitized
    quick -n 3 --warmup 100 t.npz # so that the rate of a step does not depend on -n
    mv model.npz whole.npz
    cp untrained.npz model.npz
    quick -n 2 --warmup 100 t.npz
    cp model.npz two.npz
    begun tg-train -n 3 -a 65536 t.npz
    abandon
    grep -qx 'tg-train: finishing this step, then saving; again to stop now' err
    grep -qx 'tg-train: abandoning this step, then saving those before it; again to end without saving' err
    [[ $(tail -n 2 err) = "tg-train: stopped; model.npz is unchanged
tg-train: to resume: tg-train -n 3 -a 65536 t.npz" ]]
    cmp model.npz two.npz
    tg-train -n 3 -a 1 t.npz 2> /dev/null
    cmp model.npz whole.npz
}

# passes SECONDS: with how many passes a step of `quick` takes about so long on this machine, as it is now.
passes() {
    local begin=${EPOCHREALTIME/./}
    quick -n 1 -a 512 -m untrained.npz -o probe.npz t.npz
    echo $((512 * $1 * 1000000 / (${EPOCHREALTIME/./} - begin)))
}

# The first step is waited for; the second one must last more than the second that `abandon` needs.
@test "a long step that is abandoned leaves the steps before it, also those that were not saved" {
    slow
    local a
    a=$(passes 5)
    begun tg-train -b 4 -n 3 -a "$a" --save-every 0 t.npz
    eventually is_past 1
    abandon
    [[ $(step_of model.npz) = 1 ]]
    [[ $(tail -n 2 err) = "tg-train: saved model.npz at step 1 of 3
tg-train: to resume: tg-train -b 4 -n 3 -a $a --save-every 0 t.npz" ]]
}

@test "a new model whose first step is abandoned is not made" {
    slow
    rm model.npz
    begun tg-train -a 65536 t.npz
    abandon
    [[ ! -e model.npz ]]
    [[ $(tail -n 2 err) = "tg-train: stopped; no model was saved
tg-train: to resume: tg-train -a 65536 t.npz" ]]
    run -0 ls -A
    [[ $output != *.tg-* ]]
}

@test "the command that resumes after a signal is quoted, and says what it needs on standard input" {
    local status=0
    cp untrained.npz "my model.npz"
    begun tg-train -m "my model.npz" -b 4 -n 100000 - < t.npz
    eventually grep -q '^step ' err
    kill -TERM $child
    wait $child || status=$?
    [[ $status = 143 ]]
    [[ $(tail -n 1 err) = "tg-train: to resume, repeat the whole command, with what writes the tokens to standard input:"* ]]
    grep -qF "standard input: tg-train -m 'my model.npz' -b 4 -n 100000 -" err
}

@test "the command for a text is quoted" {
    make_text 500 > 'x;rm -rf y'
    run -1 --separate-stderr tg-train 'x;rm -rf y'
    [[ $stderr = *"try  tg-tokenize 'x;rm -rf y' | tg-train" ]]
    cp 'x;rm -rf y' $'a\xe2\x80\xaeb'
    run -1 --separate-stderr tg-train $'a\xe2\x80\xaeb'
    [[ $stderr = *"try  tg-tokenize \$'a\342\200\256b' | tg-train" ]]
}

@test "a long first step shows how far it is, and the time left" {
    shows_on_terminal 'step 0/3 \+ [0-9]+%  [0-9,]+ tok/s  [0-9a-z]+ left' 'tg-train -n 3 -a 65536 t.npz'
}

@test "a run with -o that was stopped is finished by the same command" {
    slow
    local at
    stoppable
    run -143 --separate-stderr signalled 10 drain SIGTERM -- "${COMMAND[@]}" -o out.npz
    at=$(step_of out.npz)
    [[ $at -ge 10 && $at -lt 120 ]]
    run -0 --separate-stderr "${COMMAND[@]}" -o out.npz
    [[ ${stderr_lines[0]} = "tg-train: out.npz: resuming at step $at of 120" ]]
    cmp out.npz whole.npz
    cmp model.npz untrained.npz
    # an empty file holds no run
    : > empty.npz
    tg-train -b 4 -n 2 -o empty.npz t.npz 2> /dev/null
    [[ $(step_of empty.npz) = 2 ]]
    # what is no model is not replaced
    run -2 --separate-stderr tg-train -o text t.npz
    said "tg-train: text: plain text; --force replaces it"
    make_text | cmp - text
}

@test "a new model that was stopped also resumes" {
    slow
    rm model.npz
    tg-train -b 1 -n 90 -c 8 -m whole.npz t.npz 2> /dev/null
    run -130 --separate-stderr signalled 1 drain SIGINT -- tg-train -b 1 -n 90 -c 8 t.npz
    says "tg-train: model.npz: a new model, "...
    [[ $(step_of model.npz) -lt 90 ]]
    tg-train -b 1 -n 90 -c 8 t.npz 2> /dev/null
    cmp model.npz whole.npz
}

@test "a second signal ends at once and leaves the model of the last save" {
    slow
    stoppable
    run -130 --separate-stderr signalled 1 stuck SIGINT 1.1 SIGINT -- "${COMMAND[@]}" --save-every 0
    [[ $stderr != *saved* ]]
    cmp model.npz untrained.npz
    run -143 --separate-stderr signalled 1 stuck SIGINT 1.1 SIGTERM -- "${COMMAND[@]}" --save-every 0
    cmp model.npz untrained.npz
    "${COMMAND[@]}" 2> /dev/null
    cmp model.npz whole.npz
}

@test "kill -9: the same command resumes from the last save" {
    slow_unless_sanitized
    local at
    stoppable
    run -137 --separate-stderr signalled 25 stuck SIGKILL -- "${COMMAND[@]}"
    at=$(step_of model.npz)
    [[ $at -ge 20 && $at -lt 120 && $((at % 20)) = 0 ]]
    run -0 --separate-stderr "${COMMAND[@]}"
    [[ ${stderr_lines[0]} = "tg-train: model.npz: resuming at step $at of 120" ]]
    cmp model.npz whole.npz
}

@test "SIGUSR1 prints a status line, and training continues" {
    slow_unless_sanitized
    stoppable
    run -0 --separate-stderr signalled 10 drain SIGUSR1 -- "${COMMAND[@]}"
    says "tg-train: step "...
    [[ $(grep -cE '^tg-train: step [0-9]+/120( \+ [0-9]+%)?  loss [0-9.]+  .*tok/s  .* left$' <<< "$stderr") = 1 ]]
    cmp model.npz whole.npz
}

# SIGUSR1 is caught, and the pipe is open.
catches_usr1() {
    local mask
    mask=$(sed -n 's/^SigCgt:[^0-9a-f]*//p' "/proc/$child/status")
    (( 16#${mask:-0} & 0x200 )) && find "/proc/$child/fd" -lname '*/pipe' | grep -q .
}

@test "SIGUSR1 while the text is still being read is answered when training begins" {
    local child
    [[ $(uname) = Linux ]] || skip "looks into Linux's /proc"
    mkfifo pipe
    tg-train -b 1 -n 2 pipe 2> err 3>&- &
    child=$!
    exec 8<> pipe
    eventually catches_usr1
    kill -USR1 $child
    eventually is_delivered 10
    cat t.npz >&8
    exec 8>&-
    wait $child
    [[ $(grep -c '^tg-train: step [012]/2' err) = 1 ]]
    [[ $(step_of model.npz) = 2 ]]
}

@test "a validation loss that is not of the last step says so" {
    slow
    local at want
    stoppable
    run -130 --separate-stderr signalled 20 drain SIGINT -- "${COMMAND[@]}" --eval-every 17
    at=$(step_of model.npz)
    [[ $at -ge 20 && $at -lt 120 ]]
    want=" (at step $((at / 17 * 17)))"
    [[ $((at % 17)) != 0 ]] || want=""
    [[ ${stderr_lines[-3]} =~ ^"tg-train: step $at: loss "[0-9.]+", validation loss "[0-9.]+", "[0-9.]+" bits per byte$want"$ ]]
    # as it does not where it was just measured
    run -0 --separate-stderr "${COMMAND[@]}"
    [[ ${stderr_lines[-2]} =~ ^"tg-train: step 120: loss "[0-9.]+", validation loss "[0-9.]+", "[0-9.]+" bits per byte"$ ]]
}

@test "a signal that the parent ignores stays ignored" {
    slow_unless_sanitized
    stoppable
    run -0 --separate-stderr signalled 10 drain SIGINT -- \
        sh -c 'trap "" INT; exec "$@"' sh "${COMMAND[@]}"
    cmp model.npz whole.npz
}

# ---- two runs, and other programs

@test "a second run on the same model is refused with the first one's process, also after a save" {
    slow
    local first status=0
    begun tg-train -b 4 -n 100000 --save-every 1 t.npz
    first=$child
    eventually test "$(stat -c %i model.npz)" != "$(stat -c %i untrained.npz)"
    run -3 --separate-stderr tg-train -n 5 t.npz
    said "tg-train: model.npz: process $first is training it"
    [[ ${#stderr_lines[@]} = 1 ]]
    # as another path names it, and as the target
    mkdir dir
    ln -s ../model.npz dir/link.npz
    run -3 --separate-stderr tg-train -n 5 -m dir/link.npz t.npz
    said "tg-train: dir/link.npz: process $first is training it"
    run -3 --separate-stderr tg-train -n 5 -m untrained.npz -o model.npz t.npz
    said "tg-train: model.npz: process $first is training it"
    # other files, and reading, are free
    tg-train -b 4 -n 2 -o other.npz t.npz 2> /dev/null
    tg-info model.npz > /dev/null
    kill -TERM $first
    wait $first || status=$?
    [[ $status = 143 ]]
    run -0 ls -A
    [[ $output != *.lock* ]]
    tg-train -b 4 -n "$(($(step_of model.npz) + 1))" t.npz 2> /dev/null
}

@test "of two runs that make a new model only one does" {
    rm model.npz
    begun tg-train -a 65536 t.npz
    run -3 --separate-stderr tg-train -n 1 t.npz
    said "tg-train: model.npz: process $child is training it"
    kill -KILL $child
    wait $child || true
    # its lock file remains, and hinders nobody
    [[ -e .tg-model.npz.lock ]]
    quick -n 1 t.npz
    run -0 ls -A
    [[ $output != *.lock* ]]
}

@test "a lock file is gone after a failure and after a signal that ends at once" {
    slow
    local status=0
    run -1 --separate-stderr tg-train text
    run -2 --separate-stderr tg-train -c 17 t.npz
    begun tg-train -a 65536 t.npz
    abandon
    mkfifo pipe
    # while the text is being read
    tg-train pipe 2> err 3>&- &
    child=$!
    eventually test -e .tg-model.npz.lock
    kill -TERM $child
    wait $child || status=$?
    [[ $status = 143 ]]
    run -0 ls -A
    [[ $output != *.lock* ]]
    # nor is there one for what is not a file
    tg-train -b 4 -n 1 -o /dev/null t.npz 2> /dev/null
    [[ ! -e /dev/.tg-null.lock ]]
}

@test "--no-lock: no lock is taken or asked for" {
    slow
    local status=0
    begun tg-train -a 65536 t.npz
    run -0 --separate-stderr tg-train --no-lock -b 4 -n 1 t.npz
    [[ $(step_of model.npz) = 1 ]]
    kill -KILL $child
    wait $child || true
    rm .tg-model.npz.lock
    begun tg-train --no-lock -n 2 -a 65536 t.npz
    run -0 ls -A
    [[ $output != *.lock* ]]
    kill -KILL $child
    wait $child || true
    # what is in its place cannot be locked
    mkdir .tg-model.npz.lock
    run -3 --separate-stderr tg-train -n 2 t.npz
    said "tg-train: model.npz: cannot open $(pwd -P)/.tg-model.npz.lock: Is a directory; --no-lock runs without it"
    quick --no-lock -n 2 t.npz
}

@test "a model that another program replaces is not overwritten" {
    slow
    local how
    for how in 'cp untrained.npz new.npz && mv new.npz model.npz' 'cat t.npz > model.npz' 'touch model.npz'; do
        rm -f model.npz*
        cp untrained.npz model.npz
        begun tg-train -b 4 -n 1 -a 2048 t.npz
        bash -c "$how"
        cp model.npz theirs.npz
        child_status=0
        wait $child || child_status=$?
        [[ $child_status = 3 ]]
        [[ $(tail -n 1 err) = \
            "tg-train: model.npz: another program has replaced it: step 1 of this run is saved as $PWD/model.npz.step-1" ]]
        cmp model.npz theirs.npz
        [[ $(step_of model.npz.step-1) = 1 ]]
    done
}

@test "one that it makes or removes meanwhile; the other name is taken" {
    slow
    local status=0
    rm model.npz
    touch model.npz.step-1
    begun tg-train -b 4 -n 1 -a 1024 -c 8 t.npz
    cp untrained.npz model.npz
    wait $child || status=$?
    [[ $status = 3 && $(tail -n 1 err) = *"saved as $PWD/model.npz.step-1+" ]]
    cmp model.npz untrained.npz
    [[ $(step_of model.npz.step-1+) = 1 && ! -s model.npz.step-1 ]]
    begun tg-train -b 4 -n 1 -a 4096 t.npz
    rm model.npz
    wait $child
    [[ $(step_of model.npz) = 1 ]]
}

# ---- the log

@test "the log: seven columns, a line a step, val_loss where it was measured" {
    run -0 --separate-stderr tg-train -n 10 --eval-every 4 --log log.tsv t.npz
    [[ $(head -n 1 log.tsv) = $'step\tloss\tval_loss\tlr\tgrad_norm\ttokens_per_s\ttime_s' ]]
    [[ $(wc -l < log.tsv) = 11 ]]
    awk -F '\t' 'NF != 7 { exit 1 }' log.tsv
    [[ $(tail -n +2 log.tsv | cut -f 1 | tr '\n' ' ') = "1 2 3 4 5 6 7 8 9 10 " ]]
    [[ $(awk -F '\t' 'NR > 1 && $3 != "" { printf "%s ", $1 }' log.tsv) = "4 8 10 " ]]
    # every other value is a number, and time does not run backwards
    awk -F '\t' 'NR > 1 { for (i = 1; i <= 7; i++) if (i != 3 && $i !~ /^[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?$/) exit 1
                 if ($7 < time) exit 1; time = $7 }' log.tsv
    says "tg-train: step 10: loss $(tail -n 1 log.tsv | awk -F '\t' '{ printf "%.4f, validation loss %.4f, %.4f bits per byte", $2, $3, $3 / log(2) }')"
}

@test "the log is appended to when a run resumes, with one header" {
    tg-train -n 3 --log log.tsv t.npz 2> /dev/null
    cp log.tsv first.tsv
    tg-train -n 5 --log log.tsv t.npz 2> /dev/null
    [[ $(cut -f 1 log.tsv | tr '\n' ' ') = "step 1 2 3 4 5 " ]]
    head -n 4 log.tsv | cmp - first.tsv
    : > empty.tsv
    tg-train -n 6 --log empty.tsv t.npz 2> /dev/null
    [[ $(cut -f 1 empty.tsv | tr '\n' ' ') = "step 6 " ]]
}

@test "a log with an incomplete last line, as a full disk leaves it, is mended, and that is said" {
    slow_unless_sanitized
    local n
    tg-train -n 3 --log log.tsv t.npz 2> /dev/null
    cp log.tsv whole.tsv
    printf '4\t5.4' >> log.tsv
    run -0 --separate-stderr tg-train -n 4 --log log.tsv t.npz
    says "tg-train: log.tsv: its last line was incomplete, and is removed"
    [[ $stderr != *"its last step"* ]]
    head -n 4 log.tsv | cmp - whole.tsv
    [[ $(cut -f 1 log.tsv | tr '\n' ' ') = "step 1 2 3 4 " && $(awk -F '\t' '{ print NF }' log.tsv | uniq) = 7 ]]
    tg-info log.tsv > /dev/null
    # cut in the titles; without the end of the titles' line
    for n in 1 9 56; do
        head -c $n whole.tsv > cut.tsv
        run -0 --separate-stderr tg-train -n $((4 + n)) --save-every 0 --log cut.tsv t.npz
        says "tg-train: cut.tsv: its last line was incomplete, and is removed"
        cmp <(head -n 1 cut.tsv) <(head -n 1 whole.tsv)
    done
}

@test "duplicated or missing steps of a log are reported" {
    tg-train -n 2 --log log.tsv t.npz 2> /dev/null
    cp model.npz two.npz
    tg-train -n 4 --log log.tsv t.npz 2> /dev/null
    cp two.npz model.npz # as after a run that was killed before it saved
    run -0 --separate-stderr tg-train -n 4 --log log.tsv t.npz
    says "tg-train: log.tsv: its last step is 4, and this run continues with step 3: the log has these twice"
    [[ $(cut -f 1 log.tsv | tr '\n' ' ') = "step 1 2 3 4 3 4 " ]]
    tg-train -n 6 t.npz 2> /dev/null # without the log
    run -0 --separate-stderr tg-train -n 7 --log log.tsv t.npz
    says "tg-train: log.tsv: its last step is 4, and this run continues with step 7: the log lacks those between"
}

@test "a log may be a FIFO, but no directory" {
    mkfifo fifo
    cat fifo > got &
    tg-train -n 2 --log fifo t.npz 2> /dev/null
    wait $!
    [[ $(cut -f 1 got | tr '\n' ' ') = "step 1 2 " ]]
    mkdir logs
    run -3 --separate-stderr tg-train -n 3 --log logs t.npz
    [[ $stderr = *"tg-train: logs: cannot write the log: Is a directory" ]]
    [[ $(step_of model.npz) = 2 ]]
}

@test "the learning rate: warm-up, peak, cosine" {
    tg-train -n 20 --warmup 4 --lr 0.01 --min-lr 0.001 --log log.tsv t.npz 2> /dev/null
    # linear for 4 steps; the 5th has the peak; then 0.001 + 0.0045 (1 + cos(pi (n - 4) / 16))
    awk -F '\t' 'NR > 1 { n = $1 - 1
                          want = n < 4 ? 0.01 * (n + 1) / 5 : 0.001 + 0.0045 * (1 + cos(3.14159265358979 * (n - 4) / 16))
                          d = $4 / want - 1; if (d * d > 1e-11) exit 1 }' log.tsv
    tg-train -o out.npz -m untrained.npz -n 3 --warmup 0 --lr 0 --min-lr 0 --log zero.tsv t.npz 2> /dev/null
    [[ $(cut -f 4 zero.tsv | tail -n 1) = 0.000000e+00 ]]
}

@test "a log that cannot be opened stops before training, one that cannot be written names itself" {
    run -3 --separate-stderr tg-train -n 2 --log missing/log.tsv -m new.npz t.npz
    said "tg-train: missing/log.tsv: cannot write the log: No such file or directory"
    [[ ! -e new.npz ]]
    [[ $stderr != *"step 1"* ]]
    cmp model.npz untrained.npz
    need_dev_full
    run -3 --separate-stderr tg-train -n 2 --log /dev/full t.npz
    [[ ${stderr_lines[-1]} = "tg-train: /dev/full: "*"No space left on device" ]]
    # the step that was done is kept
    says "tg-train: saved model.npz at step 1 of 2"
    [[ $(step_of model.npz) = 1 ]]
    cp untrained.npz want.npz
    tg-train -m want.npz -n 2 t.npz 2> /dev/null
    tg-train -n 2 t.npz 2> /dev/null
    cmp model.npz want.npz
}

@test "a log that fails in the middle does not cost the run" {
    slow_unless_sanitized
    local at
    stoppable
    run -3 --separate-stderr bash -c 'exec "$@" --save-every 0 --log >(head -n 9 > lines)' \
        bash "${COMMAND[@]}"
    [[ ${stderr_lines[-1]} = "tg-train: /dev/fd/"*": cannot write the log: Broken pipe" ]]
    at=$(step_of model.npz)
    says "tg-train: saved model.npz at step $at of 120"
    [[ $at -ge 8 && $at -lt 120 ]]
    "${COMMAND[@]}" 2> /dev/null
    cmp model.npz whole.npz
}

@test "a reader of the messages that goes away does not cost the run" {
    quick -n 3 -m untrained.npz -o want.npz t.npz
    # gone before the first message
    run_pipe 0 '
        { until [[ -e gone ]]; do sleep 0.01; done; exec tg-train -b 4 -n 3 t.npz 2>&1; } |
            { exec < /dev/null; touch gone; }'
    cmp model.npz want.npz
    # nor the copy of a complete model: the message that it is complete comes before the copy
    rm gone
    run_pipe 0 '
        { until [[ -e gone ]]; do sleep 0.01; done; exec tg-train -m want.npz -n 3 -o copy.npz t.npz 2>&1; } |
            { exec < /dev/null; touch gone; }'
    cmp copy.npz want.npz
}

@test "a log that fails, and a model that cannot be saved: both are said" {
    need_dev_full
    run -3 --separate-stderr tg-train -n 2 -o /dev/full --log /dev/full t.npz
    [[ ${stderr_lines[-2]} = "tg-train: /dev/full: "*" bytes"*"No space left on device" ]]
    [[ ${stderr_lines[-1]} = "tg-train: /dev/full: cannot write the log: No space left on device" ]]
    [[ $stderr != *saved* ]]
}

# ---- validation

@test "validation: the last tenth, another share, none" {
    run -0 --separate-stderr tg-train -o out.npz -n 1 --val-fraction 0.25 t.npz
    says "tg-train: 34,176 parameters, 10,000 tokens (7,500 to train, 2,500 to validate), needs "...
    rm out.npz
    run -0 --separate-stderr tg-train -o out.npz -n 1 --val-fraction 0 --log log.tsv t.npz
    says "tg-train: 34,176 parameters, 10,000 tokens (10,000 to train, 0 to validate), needs "...
    [[ $stderr != *" val "* && $stderr != *"validation loss"* ]]
    [[ $(tail -n 1 log.tsv | cut -f 3) = "" ]]
    head -c 150 text | tg-tokenize > short.npz
    rm out.npz
    run -0 --separate-stderr tg-train -o out.npz -n 1 short.npz
    says "tg-train: no validation: the text is too short to hold out 0.1 of it (a window needs 17 tokens)"
    # and the other way round: 18 of 20 tokens to validate would leave 2
    head -c 20 text | tg-tokenize > short.npz
    rm out.npz
    run -0 --separate-stderr tg-train -o out.npz -n 1 --val-fraction 0.9 short.npz
    says "tg-train: no validation: the text is too short to hold out 0.9 of it (a window needs 17 tokens)"
}

@test "how often and how much is validated and saved does not change the model" {
    quick -o want.npz -n 12 --dropout 0.1 t.npz
    quick -o got.npz -n 12 --dropout 0.1 --eval-every 1 --save-every 1 t.npz
    cmp got.npz want.npz
    quick -o got.npz -n 12 --dropout 0.1 --eval-every 0 --eval-tokens 100 --save-every 5 t.npz
    cmp got.npz want.npz
}

# ---- where things come from and go to

@test "the model: -m, TG_MODEL, model.npz" {
    quick -n 2 t.npz
    cp untrained.npz a.npz
    cp untrained.npz b.npz
    TG_MODEL=a.npz quick -n 2 t.npz
    cmp a.npz model.npz
    TG_MODEL=missing/x quick -m b.npz -n 2 t.npz
    cmp b.npz model.npz
}

@test "-o leaves the model alone" {
    quick -o out.npz -n 2 t.npz
    cmp model.npz untrained.npz
    [[ $(step_of out.npz) = 2 ]]
}

@test "-m is not read where -o exists, and that is said" {
    slow_unless_sanitized
    quick -m other.npz -n 2 -c 8 t.npz
    cp other.npz before.npz
    run -0 --separate-stderr tg-train -m model.npz -o other.npz -n 3 t.npz
    [[ ${stderr_lines[0]} = "tg-train: other.npz exists and is continued: model.npz is not read" ]]
    says "tg-train: other.npz: resuming at step 2 of 3"
    run -0 --separate-stderr tg-train -m model.npz -o other.npz t.npz
    says "tg-train: other.npz exists and is continued: model.npz is not read"
    run -0 --separate-stderr tg-train -m - -o other.npz -n 4 t.npz < untrained.npz
    says "tg-train: other.npz exists and is continued: standard input is not read"
    # nothing to say
    run -0 --separate-stderr tg-train -m other.npz -o other.npz -n 5 t.npz
    [[ $stderr != *"not read"* ]]
    run -0 --separate-stderr tg-train -o other.npz -n 6 t.npz
    [[ $stderr != *"not read"* ]]
    run -0 --separate-stderr tg-train -m model.npz -o new.npz -n 1 t.npz
    [[ $stderr != *"not read"* ]]
}

@test "-o - is the model on standard output, and nothing else is" {
    run_pipe 0 'tg-train -b 4 -o - -n 3 --save-every 1 t.npz | cat > out.npz'
    [[ $stderr != *saved* && $stderr != *"stopped"* ]]
    cmp model.npz untrained.npz
    quick -n 3 t.npz
    cmp out.npz model.npz
}

@test "-m - reads the model from standard input, and writes it to standard output" {
    quick -n 3 t.npz
    run_pipe 0 'cat untrained.npz | tg-train -b 4 -m - -n 3 t.npz > out.npz'
    says "tg-train: standard input: an untrained model"
    cmp out.npz model.npz
    tg-train -b 4 -m - -o out2.npz -n 3 t.npz < untrained.npz 2> /dev/null
    cmp out2.npz model.npz
    run_pipe 2 'tg-train -m - < untrained.npz'
    said "tg-train: standard input is the model: give the tokens as files"
    run_pipe 2 'tg-train -m - t.npz - < untrained.npz'
    said "tg-train: standard input is the model: give the tokens as files"
    run_pipe 2 'TG_MODEL=- tg-train < untrained.npz'
    said "tg-train: standard input is the model: give the tokens as files"
}

@test "a named pipe gets the model once" {
    mkfifo pipe
    timeout 600 cat pipe > got.npz 3>&- &
    run -0 --separate-stderr timeout 600 tg-train -b 4 -n 3 --save-every 1 -o pipe t.npz
    wait $!
    quick -n 3 t.npz
    cmp got.npz model.npz
}

@test "a symbolic link stays one" {
    mkdir real
    mv model.npz real/
    ln -s real/model.npz model.npz
    quick -n 2 t.npz
    [[ -L model.npz && $(step_of real/model.npz) = 2 ]]
}

@test "archives in a row, and several files, are one text" {
    head -c 6000 text | tg-tokenize > a.npz
    tail -c +6001 text | tg-tokenize > b.npz
    quick -o want.npz -n 3 t.npz
    run_pipe 0 'cat a.npz b.npz | tg-train -b 4 -o got.npz -n 3'
    cmp got.npz want.npz
    quick -o got.npz -n 3 a.npz b.npz
    cmp got.npz want.npz
    quick -o got.npz -n 3 a.npz - < b.npz
    cmp got.npz want.npz
    quick -o got.npz -n 3 b.npz a.npz
    run -1 cmp -s got.npz want.npz
}

@test "a trained model keeps a piece of its validation text" {
    slow
    need_numpy
    quick -n 1 t.npz
    run -0 python3 -c '
import numpy as np
print(bytes(np.load("model.npz")["probe/tokens"].astype(np.uint8)) == open("text", "rb").read()[9000:9016])'
    is_output True
}

# ---- bad input

@test "a text shorter than a window is refused with the numbers" {
    local n s
    for n in 1 16; do
        head -c $n text | tg-tokenize > short.npz
        run -1 --separate-stderr tg-train short.npz
        [[ $n = 1 ]] && s="" || s=s
        said "tg-train: the text has $n token$s, a window of context 16 needs 17"
    done
    cmp model.npz untrained.npz
    head -c 17 text | tg-tokenize > short.npz
    quick -n 1 short.npz
    run_pipe 1 'printf x | tg-tokenize | tg-train -m new.npz'
    said "tg-train: the text has 1 token, a window of context 64 needs 65"
    # before memory is taken for it
    run -1 --separate-stderr tg-train -m new.npz --context 10000000 t.npz
    said "tg-train: the text has 10000 tokens, a window of context 10000000 needs 10000001"
    [[ ! -e new.npz ]]
}

@test "nothing at all is refused" {
    run_pipe 2 'tg-train < /dev/null'
    said "tg-train: standard input: empty: no tokens: try  tg-tokenize < text | tg-train"
    run_pipe 2 'true | tg-train t.npz -'
    said "tg-train: standard input: empty: no tokens: try  tg-tokenize < text | tg-train"
    : > empty
    run -1 --separate-stderr tg-train empty
    said "tg-train: empty: "
    printf '%s\n' "kind S - tokens" "version i8 - 1" "tokenizer/kind S - bytes" "tokenizer/vocab_size i8 - 256" |
        npz none.npz
    run -1 --separate-stderr tg-train none.npz
    said "tg-train: the text has 0 tokens, a window of context 16 needs 17"
    # and a failure upstream is not taken for a text
    run_pipe 2 'tg-tokenize < /dev/null | tg-train'
    [[ ${stderr_lines[*]} = *"tg-train: standard input: "*empty* ]]
    cmp model.npz untrained.npz
}

@test "plain text is refused with the remedy" {
    run_pipe 1 'tg-train < text'
    said "tg-train: standard input: plain text, expected a token archive; try  tg-tokenize < text | tg-train"
    run -1 --separate-stderr tg-train text
    said "tg-train: text: plain text, expected a token archive; try  tg-tokenize text | tg-train"
    echo '{"prompt": "a", "completion": "b"}' > 'a b.jsonl'
    run -1 --separate-stderr tg-train 'a b.jsonl'
    said "tg-train: a b.jsonl: JSON lines, expected a token archive; try  tg-tokenize -m MODEL --chat 'a b.jsonl' | tg-train, or --prompt-completion for pairs"
}

@test "tokens of another tokenizer, and a model with one, are refused" {
    local ids=" 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84"
    printf '%s\n' "kind S - tokens" "version i8 - 1" "tokenizer/kind S - words" "tokenizer/vocab_size i8 - 300" \
        "tokens/00000000 u2 20$ids" | npz words.npz
    run -1 --separate-stderr tg-train words.npz
    said 'tg-train: words.npz: tokenizer/kind is "words"'
    run -1 --separate-stderr tg-train t.npz words.npz
    said 'tg-train: words.npz: tokenizer/kind is "words"'
    tg-tokenize -q -t char -o char.npz text
    run -1 --separate-stderr tg-train char.npz
    said 'tg-train: char.npz: the tokens are of tokenizer "char" with '
    [[ $stderr = *' ids, expected "bytes" with 256 ids, that of model.npz; tg-tokenize -m model.npz makes such tokens of a text' ]]
    run -1 --separate-stderr tg-train --val char.npz t.npz
    said 'tg-train: char.npz: the tokens are of tokenizer "char" with '
    cp model.npz 'a model.npz'
    run -1 --separate-stderr tg-train -m 'a model.npz' - < char.npz
    said "tg-tokenize -m 'a model.npz' makes such tokens of a text"
    [[ $stderr = 'tg-train: standard input: the tokens are of '* ]]
    # an adapter's model
    run -1 --separate-stderr tg-train -m 'a model.npz' --lora 2 -o adapter.npz char.npz
    said "expected \"bytes\" with 256 ids, that of a model.npz; tg-tokenize -m 'a model.npz' makes such tokens of a text"
    cmp model.npz untrained.npz
}

@test "ids out of range are refused" {
    { printf '%s\n' "kind S - tokens" "version i8 - 1" "tokenizer/kind S - bytes" "tokenizer/vocab_size i8 - 256" &&
        echo "tokens/00000000 u2 3 65 256 67"; } | npz bad.npz
    run -1 --separate-stderr tg-train bad.npz
    said "tg-train: bad.npz: tokens/00000000[1] is 256: the vocabulary has 256 ids"
}

@test "a model where tokens should be, and the other way round" {
    run -1 --separate-stderr tg-train model.npz
    said 'tg-train: model.npz: the archive has kind "model", expected "tokens"'
    cp t.npz t2.npz
    run -1 --separate-stderr tg-train -m t2.npz t.npz
    said 'tg-train: t2.npz: the archive has kind "tokens", expected "model"'
    cmp t2.npz t.npz
    cp text plain
    run -1 --separate-stderr tg-train -m plain t.npz
    said "tg-train: plain: not an .npz archive: this is plain text"
    cmp plain text
}

@test "tokens that are cut short or have a bit flipped are refused" {
    local at
    for at in 1 100 4000 $(($(size t.npz) - 1)); do
        head -c "$at" t.npz > bad.npz
        run -1 --separate-stderr tg-train bad.npz
        said "tg-train: bad.npz: "
        run_pipe 1 'cat bad.npz | tg-train'
        said "tg-train: standard input: "
    done
    for at in 14 700 5000 $(($(size t.npz) - 30)); do
        cp t.npz bad.npz
        flip bad.npz "$at"
        run -1 --separate-stderr tg-train bad.npz
        said "tg-train: bad.npz: "
    done
    cat t.npz bad.npz > both.npz
    run -1 --separate-stderr tg-train both.npz
    said "tg-train: both.npz: "
    cmp model.npz untrained.npz
}

@test "a model that is cut short or has a bit flipped is refused and stays as it is" {
    slow_unless_sanitized
    local at
    quick -n 2 t.npz
    cp model.npz good.npz
    for at in 0 1 1000 100000 $(($(size good.npz) - 1)); do
        head -c "$at" good.npz > model.npz
        cp model.npz before.npz
        run -1 --separate-stderr tg-train -n 4 t.npz
        said "tg-train: model.npz: "
        cmp model.npz before.npz
    done
    # the head, a weight, the optimizer's state, the directory
    for at in 14 20000 300000 $(($(size good.npz) - 30)); do
        cp good.npz model.npz
        flip model.npz "$at"
        cp model.npz before.npz
        run -1 --separate-stderr tg-train -n 4 t.npz
        said "tg-train: model.npz: "
        cmp model.npz before.npz
    done
    cat good.npz good.npz > model.npz
    run -1 --separate-stderr tg-train -n 4 t.npz
    said "tg-train: model.npz: another archive follows the first"
}

# changed PYTHON: good.npz with its members changed (change_npz), as model.npz.
changed() {
    change_npz good.npz model.npz "$1"
    cp model.npz before.npz
}

# refused TEXT: so is model.npz, and nothing happens to it.
refused() {
    run -1 --separate-stderr tg-train -n 4 t.npz
    said "$1"
    cmp model.npz before.npz
}

@test "NaN and infinity in weights or the optimizer's state are refused" {
    slow
    need python3
    local name
    quick -n 2 t.npz
    cp model.npz good.npz
    changed '' # the archive of another program
    quick -n 4 t.npz
    for name in wte.weight h.1.mlp.c_fc.bias opt/m/wpe.weight opt/v/ln_f.bias; do
        changed "n = '$name'; members[n] = members[n][:-8] + struct.pack('<ff', float('-nan'), 0)"
        refused "tg-train: model.npz: $name"
        [[ $stderr = *" is nan: it must be finite" ]]
        changed "n = '$name'; members[n] = members[n][:-4] + struct.pack('<f', float('-inf'))"
        refused "tg-train: model.npz: $name"
    done
}

@test "a run's state that is incomplete or makes no sense is refused" {
    slow
    need python3
    quick -n 2 t.npz
    cp model.npz good.npz
    changed "del members['opt/v/h.0.ln_1.weight']"
    refused "the optimizer's state has 55 of 56 arrays at step 2"
    changed "members = {n: d for n, d in members.items() if not n.startswith('opt/')}"
    refused "the optimizer's state has 0 of 56 arrays at step 2"
    changed "del members['wpe.weight']"
    refused "wpe.weight is missing"
    changed "members['opt/m/wpe.weight'] = members['opt/m/wte.weight']"
    refused "opt/m/wpe.weight has 8192 elements of type f4, expected 512"
    changed "members['train/batch'] = members['train/batch'][:-8] + struct.pack('<q', 0)"
    refused "batch must be between 1 and 65536, got 0"
    changed "members['train/batch'] = members['train/batch'][:-8] + struct.pack('<q', -1)"
    refused "train/batch"
    changed "members['train/step'] = members['train/step'][:-8] + struct.pack('<q', 1 << 62)"
    refused "train/step must be between 0 and 1099511627775, got 4611686018427387904"
    changed "members['train/step'] = members['train/step'][:-8] + struct.pack('<q', 1 << 40)"
    refused "train/step must be between 0 and 1099511627775, got 1099511627776"
    changed "for n, x in ('steps', 10**12), ('batch', 65536), ('accumulate', 65536):
    members['train/' + n] = members['train/' + n][:-8] + struct.pack('<q', x)"
    refused "1000000000000 steps of 65536 passes of 65536 sequences, expected a product below"
    changed "members['opt/v/wpe.weight'] = members['opt/v/wpe.weight'][:-4] + struct.pack('<f', -1)"
    refused "opt/v/wpe.weight[511] is -1: it must not be negative"
    changed "members['train/lr'] = members['train/lr'][:-8] + struct.pack('<d', float('nan'))"
    refused "lr"
    changed "members['train/context'] = members['train/context'][:-8] + struct.pack('<q', 1 << 40)"
    refused "tg-train: model.npz: train/context must be between 0 and"
    changed "members['train/context'] = members['train/context'][:-8] + struct.pack('<q', 99)"
    refused "tg-train: model.npz: context 99 exceeds the model's 16"
}

@test "a loss that is not finite stops, and the last good model stays" {
    slow_unless_sanitized
    run -1 --separate-stderr tg-train -n 100 --lr 1000 --warmup 0 t.npz
    says "tg-train: stopped; model.npz is unchanged"
    [[ ${stderr_lines[-1]} =~ ^"tg-train: step "[0-9]+": loss " ]]
    cmp model.npz untrained.npz
    run -1 --separate-stderr tg-train -n 100 --lr 1000 --warmup 0 --save-every 1 t.npz
    [[ $stderr =~ "tg-train: stopped; model.npz keeps step "([0-9]+) ]]
    [[ $(step_of model.npz) = "${BASH_REMATCH[1]}" ]]
    tg-sample -n 1 -p x > /dev/null # it can be read
    run -1 --separate-stderr tg-train -m new.npz -c 8 -n 100 --lr 1000 --warmup 0 t.npz
    says "tg-train: stopped; no model was saved"
    [[ ! -e new.npz ]]
    run_pipe 1 'tg-train -m untrained.npz -o - -n 100 --lr 1000 --warmup 0 t.npz > out'
    [[ $(size out) = 0 ]]
}

@test "a model whose validation loss is not finite is not saved over a good one" {
    local n seen=no
    # the step at which the weights are finite, and the loss is not, depends on rounding
    for n in 1 2 3 4 5 6; do
        cp untrained.npz model.npz
        run --separate-stderr tg-train -n $n --lr 1000 --weight-decay 1000 --warmup 0 t.npz
        if [[ $status = 0 ]]; then
            [[ $stderr != *nan* && $stderr != *inf* ]]
        else
            [[ $status = 1 ]]
            cmp model.npz untrained.npz
            [[ $stderr = *"the validation loss is "* ]] && seen=yes
        fi
    done
    [[ $seen = yes ]]
}

# ---- where nothing can be written

@test "a target that cannot be written is refused before training" {
    run -3 --separate-stderr tg-train -n 2 -o missing/out.npz t.npz
    said "tg-train: missing/out.npz: "
    run -3 --separate-stderr tg-train -n 2 -m missing/new.npz t.npz
    said "tg-train: missing/new.npz: "
    run -3 --separate-stderr tg-train -n 2 -o / t.npz
    said "tg-train: /: "
    run -1 --separate-stderr tg-train -n 2 -m . t.npz
    said "tg-train: .: a directory without a model's files: expected config.json and model.safetensors, model.safetensors.index.json or pytorch_model.bin; a .gguf or .npz file is named itself"
    tg-convert -q model.npz --to hf -o hf
    run -2 --separate-stderr tg-train -n 2 -m hf t.npz
    said "tg-train: hf: another project's model, which is not overwritten: name the new one with -o FILE"
    run -1 --separate-stderr tg-train -n 2 -m . -o new.npz t.npz
    said "tg-train: .: a directory without a model's files"
    run_pipe 3 'tg-train -n 2 -o - t.npz >&-'
    said "tg-train: standard output: cannot write: Bad file descriptor"
    cmp model.npz untrained.npz
}

@test "a directory or a model that may not be written" {
    need_user
    mkdir sealed
    cp untrained.npz sealed/model.npz
    chmod 500 sealed
    run -3 --separate-stderr tg-train -n 2 -m sealed/model.npz t.npz
    said "tg-train: sealed/model.npz: "
    [[ $stderr = *"Permission denied" ]]
    cmp sealed/model.npz untrained.npz
    chmod 700 sealed
    chmod 400 model.npz
    run -3 --separate-stderr tg-train -n 2 t.npz
    said "tg-train: model.npz: cannot be written: Permission denied"
    chmod 000 model.npz
    run -3 --separate-stderr tg-train -n 2 t.npz
    said "tg-train: model.npz: Permission denied"
    chmod 600 model.npz
    cmp model.npz untrained.npz
}

@test "a full disk" {
    need_dev_full
    run -3 --separate-stderr tg-train -n 2 -o /dev/full t.npz
    [[ ${stderr_lines[-1]} = "tg-train: /dev/full: "*"No space left on device" ]]
    [[ $stderr != *saved* ]]
    run_pipe 3 'tg-train -n 2 -o - t.npz > /dev/full'
    [[ ${stderr_lines[-1]} = "tg-train: standard output: "*"No space left on device" ]]
    cmp model.npz untrained.npz
}

@test "a file size limit in the middle of saving: the old model stays, and nothing else" {
    run -3 --separate-stderr bash -c 'ulimit -f 100; exec tg-train -n 2 t.npz'
    [[ ${stderr_lines[-1]} = "tg-train: model.npz: "*"File too large; it is unchanged; rerun the command to resume from it" ]]
    cmp model.npz untrained.npz
    run -0 find . -name '.tg-*'
    is_output ""
}

@test "a file that cannot be replaced, as one that is mounted: the model gets another name" {
    need unshare
    local apart=(unshare -rm) tried
    for tried in 1 2; do
        ! "${apart[@]}" true 2> /dev/null || break
        apart=(unshare -m)
    done
    "${apart[@]}" mount --bind t.npz untrained.npz 2> /dev/null || skip "no file can be mounted"
    cp untrained.npz other.npz
    quick -n 2 -m untrained.npz -o want.npz t.npz
    run -3 --separate-stderr "${apart[@]}" bash -c '
        mount --bind other.npz model.npz && exec tg-train -b 4 -n 2 --save-every 0 t.npz'
    [[ ${stderr_lines[-1]} = \
        "tg-train: model.npz: cannot be replaced: Device or resource busy; the new content is in $PWD/model.npz.step-2" ]]
    cmp model.npz.step-2 want.npz
    cmp model.npz untrained.npz
}

@test "a reader that goes away" {
    # gone before the writing begins: the whole archive fits into a pipe
    run bash -o pipefail -c '
        { until [[ -e gone ]]; do sleep 0.01; done; exec tg-train -n 2 -o - t.npz 2> err; } |
            { exec < /dev/null; touch gone; }'
    [[ $status = 141 ]]
    cmp model.npz untrained.npz
}

@test "memory that there is not" {
    need_plain_build
    run -3 --separate-stderr bash -c 'ulimit -v 2000000; exec tg-train -n 2 -b 65536 t.npz'
    [[ ${stderr_lines[-1]} =~ ^"tg-train: out of memory: "[0-9]+" bytes for buffers"$ ]]
    [[ ${stderr_lines[-2]} =~ "is available: with --batch "[0-9]+" --accumulate "[0-9]+", the run needs "[0-9.]+" GiB"$ ]]
    [[ ${stderr_lines[-3]} =~ "needs "[0-9.]+" GiB" ]]
    cmp model.npz untrained.npz
}

@test "less memory than a run needs: which settings would fit" {
    slow_unless_sanitized
    need_plain_build
    tg-init -q -P baby --n-layer 8 --n-ctx 512 -o wide.npz
    run -3 --separate-stderr bash -c 'ulimit -v 400000; exec tg-train -m wide.npz -o new.npz -n 2 -b 16 --precision float32 t.npz'
    [[ $stderr = *" MiB of memory is available: with --batch "[1248]" --accumulate "*", the run needs "* ]]
    [[ ! -e new.npz ]]
    options=$(sed -n 's/.* is available: with \(.*\), the run needs .*/\1/p' <<< "$stderr")
    # shellcheck disable=SC2086 # options are words
    run -0 --separate-stderr bash -c 'ulimit -v 400000; exec tg-train -m wide.npz -o new.npz -n 1 --precision float32 "$@" t.npz' - $options
    [[ $stderr != *available* ]]
    run -3 --separate-stderr bash -c 'ulimit -v 60000; exec tg-train -m wide.npz -o other.npz -n 2 -b 16 --precision float32 t.npz'
    [[ $stderr = *"available: even with --batch 1 --accumulate 16 --recompute, the run needs "*"; a shorter --context, --master bf16, --freeze and an adapter (--lora 16) need less"* ]]
    # what the machine has is read before the sandbox closes
    run -3 --separate-stderr tg-train --sandbox require -m wide.npz -o other.npz -n 2 --precision float32 -b 65536 -a 40000 t.npz
    [[ $stderr = *"of memory is available: "* && $stderr != *"--accumulate 80000"* ]]
}

@test "activations that are computed again take less memory, and give the same bytes" {
    slow
    tg-init -q -P baby-llama --n-layer 6 --n-ctx 64 -o deep.npz
    run -0 --separate-stderr tg-train -m deep.npz -o kept.npz -n 3 -b 16 --dropout 0.1 t.npz
    kept=$(sed -n 's/.*needs \([0-9.]*\) MiB$/\1/p' <<< "$stderr")
    run -0 --separate-stderr tg-train -m deep.npz -o again.npz -n 3 -b 16 --dropout 0.1 --recompute t.npz
    again=$(sed -n 's/.*needs \([0-9.]*\) MiB$/\1/p' <<< "$stderr")
    cmp kept.npz again.npz
    awk -v a="$kept" -v b="$again" 'BEGIN { exit !(b < 0.7 * a) }'
    # a run may be continued either way
    tg-train -q -m deep.npz -o part.npz -n 4 -b 4 t.npz
    tg-train -q -m deep.npz -o part.npz -n 6 -b 4 --recompute t.npz
    tg-train -q -m deep.npz -o whole.npz -n 4 -b 4 --recompute t.npz
    tg-train -q -m deep.npz -o whole.npz -n 6 -b 4 t.npz
    cmp part.npz whole.npz
}

# The arrays of an archive under a name, as one file.
arrays() {
    unzip -Z1 "$1" | grep "^$2" | sort | xargs unzip -p "$1"
}

@test "frozen parameters stay as they are, and have no moments" {
    slow_unless_sanitized
    tg-init -q -P baby-llama --n-layer 3 --n-ctx 32 -o start.npz
    run -0 --separate-stderr tg-train -m start.npz -o all.npz -n 4 -b 2 t.npz
    all=$(sed -n 's/.*needs \([0-9.]*\) MiB$/\1/p' <<< "$stderr")
    run -0 --separate-stderr tg-train -m start.npz -o some.npz -n 4 -b 2 --freeze 'embedding,layers:0,*.mlp.*' t.npz
    some=$(sed -n 's/.*needs \([0-9.]*\) MiB$/\1/p' <<< "$stderr")
    # 256 x 128 of the embedding; of a layer 3 x 128 x 384 of the MLP, 2 x (128 + 64) x 128 of attention, 2 norms
    (( 524544 == 32768 + 3 * 147456 + 49152 + 256 ))
    [[ $stderr = *"tg-train: of 623,488 parameters, 524,544 stay as they are: embedding,layers:0,*.mlp.*"* ]]
    [[ $(tg-info some.npz) = *$'\nfrozen      524,544 of these\n'* && $(tg-info all.npz) != *frozen* ]]
    # 12 bytes of each, of the gradient and two moments
    awk -v a="$all" -v b="$some" 'BEGIN { exit !(b < a - 4) }'
    for name in model.embed_tokens model.layers.0. model.layers.1.mlp model.layers.2.mlp; do
        cmp <(arrays start.npz $name) <(arrays some.npz $name)
        run ! unzip -Z1 some.npz "opt/?/$name*"
    done
    for name in model.layers.1.self_attn.q_proj model.layers.2.input_layernorm model.norm; do
        run ! cmp -s <(arrays start.npz $name) <(arrays some.npz $name)
        [[ $(unzip -Z1 some.npz | grep -c "^opt/./$name") = 2 ]]
    done
}

@test "frozen parameters: threads, a stop, what is computed again, other optimizers" {
    slow
    tg-init -q -P baby-llama --n-layer 3 --n-ctx 32 -o start.npz
    for optimizer in adamw muon; do
        local options=(-m start.npz -b 2 -a 3 --freeze 'embedding,layers:0,*k_proj*' --optimizer "$optimizer" -n 6)
        tg-train -q "${options[@]}" -o whole.npz t.npz
        tg-train -q "${options[@]}" -o threads.npz --threads 3 --recompute t.npz
        cmp whole.npz threads.npz
        # a run that goes on knows what is frozen
        killed_after_save part.npz tg-train -q "${options[@]}" -o part.npz --save-every 2 t.npz
        tg-train -q -m part.npz -n 6 t.npz
        cmp whole.npz part.npz
        mv whole.npz "$optimizer.npz"
        rm part.npz threads.npz
    done
    mv adamw.npz whole.npz
    run -2 --separate-stderr tg-train -m whole.npz -n 8 --freeze embedding t.npz
    said "tg-train: --freeze: it cannot change once a run has begun (model.layers.0.input_layernorm.weight is frozen): leave it out to continue, or begin with a model without a run: tg-convert whole.npz -o NEW.npz"
    tg-train -q -m whole.npz -n 7 --freeze 'embedding,layers:0-0,*k_proj*' t.npz
    tg-train -q -m start.npz -o other.npz -n 1 t.npz
    run -2 --separate-stderr tg-train -m other.npz -n 8 --freeze embedding t.npz
    said "tg-train: --freeze: it cannot change once a run has begun (model.embed_tokens.weight is trained): leave it out"
    run -2 --separate-stderr tg-train -m other.npz -n 8 --freeze nothing t.npz
    [[ $stderr = *'"nothing" names no parameter'* && $stderr != *tg-convert* ]]
    tg-convert -q other.npz -o new.npz
    tg-train -q -m new.npz -n 2 --freeze embedding t.npz
}

@test "a file that says wrongly what is frozen" {
    slow_unless_sanitized
    need zip
    tg-init -q -P baby-llama --n-layer 1 --n-ctx 32 -o start.npz
    tg-train -q -m start.npz -o run.npz -n 2 -b 2 --freeze embedding t.npz
    # 11 parameters: the table of tokens, 7 matrices and 2 norms of a layer, the last norm
    [[ $(unzip -p run.npz train/frozen.npy | tail -c +129 | od -An -tu1) = "   1$(printf '   0%.0s' {1..10})" ]]
    # packed LIST MESSAGE: what is said of an archive of these members
    packed() {
        rm -f bad.npz
        xargs zip -qX0 bad.npz < "$1"
        run -1 --separate-stderr tg-train -m bad.npz -n 3 t.npz
        said "tg-train: bad.npz: $2"
    }
    unzip -q run.npz
    unzip -Z1 run.npz > members
    damaged() {
        unzip -qo run.npz train/frozen.npy
        # shellcheck disable=SC2059 # bytes in octal
        printf "$1" | dd of=train/frozen.npy conv=notrunc bs=1 seek=128 status=none
        packed members "$2"
    }
    damaged '\2' 'train/frozen[0] is 2, expected 0 or 1'
    damaged '\0' 'train/frozen freezes 0 of 11 parameters'
    damaged '\1\1\1\1\1\1\1\1\1\1\1' 'train/frozen freezes 11 of 11 parameters'
    damaged '\1\1' 'opt/m/model.layers.0.input_layernorm.weight is not an array of this model'
    unzip -qo run.npz train/frozen.npy
    { grep -v frozen members; echo train/frozen.npy; } > late
    packed late 'train/frozen comes after the first tensor'
    tg-init -q -P baby-llama --n-layer 2 --n-ctx 32 -o two.npz
    tg-train -q -m two.npz -n 1 -b 2 --freeze embedding t.npz
    unzip -qo two.npz train/frozen.npy
    packed members 'train/frozen has 20 elements of type u1, expected 11 of type u1'
}

@test "what cannot be frozen" {
    tg-init -q -P baby-llama --n-layer 3 --n-ctx 32 -o start.npz
    refused() {
        run -2 --separate-stderr tg-train -m start.npz -o new.npz -n 2 --freeze "$1" t.npz
        said "tg-train: $2"
        [[ ! -e new.npz ]]
    }
    refused 'embeddings' '--freeze: "embeddings" names no parameter: expected embedding, layers:0-2, or a pattern of whole names, as *.mlp.*'
    refused 'embedding,' '--freeze: "" names no parameter'
    refused 'layers:1-3' '--freeze: "layers:1-3": expected a range of the model'"'"'s layers, 0 to 2'
    refused 'layers:2-1' '--freeze: "layers:2-1": expected a range'
    refused 'layers:1-' '--freeze: "layers:1-": expected a range'
    refused 'layers:+1' '--freeze: "layers:+1": expected a range'
    refused 'layers: 1-2' '--freeze: "layers: 1-2": expected a range'
    refused 'layers:1-2,layers:00000000001' '--freeze: "layers:00000000001": expected a range'
    refused 'layers:-1' '--freeze: "layers:-1": expected a range'
    refused 'layers:' '--freeze: "layers:": expected a range'
    refused 'layers:1,2' '--freeze: "2" names no parameter'
    refused '*' '--freeze: nothing is left to be trained'
    # 1,458 tensors, of which all but 130 have two moments
    tg-init -q -P baby-gemma3 --window 0 --n-layer 112 --n-embd 8 --n-inner 8 --n-ctx 16 -o start.npz
    refused 'layers:0-9' '112 layers of 13 tensors cannot be trained: with two moments of each, they are too many for an archive of 4096 arrays'
    refused "$(printf '%0200d' 0)" "--freeze: \"000"
    run -2 --separate-stderr tg-train -m start.npz -o new.npz --lora 2 --freeze embedding t.npz
    said "tg-train: --freeze is for a model that is trained: with an adapter, all of it stays as it is"
}

@test "parameters kept in bf16: less memory, files as ever, the same bytes" {
    slow
    tg-init -q -P baby-llama --n-layer 3 --n-ctx 32 -o start.npz
    local options=(-m start.npz -n 6 -b 2 -a 3 --lr 1e-3)
    # measured MODEL OPTION...: train it, and print its MiB and its loss
    measured() {
        run -0 --separate-stderr tg-train "${options[@]}" -o "$@" t.npz
        sed -n 's/.*needs \([0-9.]*\) MiB$/\1/p; s/.*step 6: loss \([0-9.]*\),.*/\1/p' <<< "$stderr" | xargs
    }
    read -r memory loss <<< "$(measured float.npz)"
    read -r half_memory half_loss <<< "$(measured half.npz --master bf16)"
    # 6 bytes of 623,488 parameters
    awk -v a="$memory" -v b="$half_memory" 'BEGIN { exit !(b < a - 3.4) }'
    awk -v a="$loss" -v b="$half_loss" 'BEGIN { exit !(a != b && a - b < 0.01 && b - a < 0.01) }'
    # float32 whose lower half is 0
    for name in {,opt/m/,opt/v/}model.{norm,layers.1.mlp.up_proj}.weight; do
        run ! grep -qv 0000 <(unzip -p half.npz "$name.npy" | tail -c +129 | od -An -v -tx2 -w4 | cut -c-5)
        grep -qv 0000 <(unzip -p half.npz "$name.npy" | tail -c +129 | od -An -v -tx2 -w4 | cut -c6-)
    done
    run -0 scalars half.npz train/master
    [[ $output = bf16 ]]
    options+=(--master bf16)
    # also with parameters that stay as they are
    for more in '' '--freeze embedding,layers:0'; do
        # shellcheck disable=SC2206 # words
        local all=("${options[@]}" $more)
        tg-train -q "${all[@]}" -o whole.npz t.npz
        tg-train -q "${all[@]}" -o threads.npz --threads 3 --recompute t.npz
        cmp whole.npz threads.npz
        # a run that goes on knows it
        killed_after_save part.npz tg-train -q "${all[@]}" -o part.npz --save-every 2 t.npz
        tg-train -q -m part.npz -n 6 t.npz
        cmp whole.npz part.npz
        tg-train -q "${all[@]}" -o - t.npz | cmp whole.npz -
        # and so does all that looks at a model while it is trained
        tg-train -q "${all[@]}" -o looked-at.npz --keep-best --eval-every 3 --probe 'To be' --probe-every 3 t.npz
        cmp <(arrays whole.npz 'model\|opt') <(arrays looked-at.npz 'model\|opt')
        tg-attn-dump -m whole.npz -p 'To be' -o want.npz
        for name in $(unzip -Z1 want.npz | grep -v source); do
            cmp <(unzip -p want.npz "$name") <(unzip -p looked-at.probe/*6.npz "$name")
        done
        rm -r whole.npz threads.npz part.npz looked-at.*
    done
}

@test "what cannot be kept in bf16" {
    tg-init -q -P baby-llama --n-layer 1 --n-ctx 32 -o start.npz
    refused() {
        run -2 --separate-stderr tg-train "${@:2}" t.npz
        said "tg-train: $1"
    }
    refused 'master bf16 is for optimizer adamw; the run has muon' -m start.npz -o new.npz -n 2 --master bf16 --optimizer muon
    refused 'master bf16 is for whole models: an adapter is small, and float32' -m start.npz -o new.npz -n 2 --master bf16 --lora 2
    [[ ! -e new.npz ]]
    tg-train -q -m start.npz -o float.npz -n 2 -b 2 t.npz
    refused 'the run has master float32: after 2 steps it cannot go on with bf16' -m float.npz -n 3 --master bf16
    tg-train -q -m start.npz -o half.npz -n 2 -b 2 --master bf16 t.npz
    refused 'the run has master bf16: after 2 steps it cannot go on with float32' -m half.npz -n 3 --master float32
    # its arrays in another order
    need zip
    unzip -q half.npz
    { unzip -Z1 half.npz | grep -v master; echo train/master.npy; } | xargs zip -qX0 bad.npz
    run -1 --separate-stderr tg-train -m bad.npz -n 3 t.npz
    said "tg-train: bad.npz: train/master comes after the optimizer's state"
    # a finished run is not touched
    cp half.npz before.npz
    tg-train -q -m half.npz -n 2 --master float32 t.npz
    cmp half.npz before.npz
}

@test "missing files, a directory" {
    mkdir dir
    run -3 --separate-stderr tg-train missing.npz
    said "tg-train: missing.npz: No such file or directory"
    run -3 --separate-stderr tg-train dir
    said "tg-train: dir: Is a directory"
    run_pipe 3 'tg-train < dir'
    said "tg-train: standard input: Is a directory"
    run_pipe 3 'tg-train <&-'
    said "tg-train: standard input: "
    cmp model.npz untrained.npz
}

@test "closed standard output and error do no harm" {
    quick -o want.npz -n 2 t.npz
    tg-train -b 4 -n 2 t.npz 2> /dev/null >&-
    cmp model.npz want.npz
    cp untrained.npz model.npz
    tg-train -b 4 -n 2 t.npz 2>&-
    cmp model.npz want.npz
    cp untrained.npz model.npz
    tg-train -b 4 -n 2 t.npz <&- >&- 2>&-
    cmp model.npz want.npz
}

# ---- on a terminal

@test "on a terminal one line redraws, elsewhere lines are printed" {
    run -0 on_terminal "tg-train -n 3 t.npz"
    [[ $output = *$'\rstep 1/3  loss '*$'\e[K'*$'\rstep 3/3  loss '* ]]
    cp untrained.npz model.npz
    ON_TERM=dumb run -0 on_terminal "tg-train -n 3 t.npz"
    [[ $output != *$'\e'* && $output = *$'\nstep 3/3  loss '* ]]
    cp untrained.npz model.npz
    run -0 --separate-stderr tg-train -n 3 t.npz
    [[ $stderr != *$'\e'* && $stderr != *$'\r'* ]]
    [[ $(grep -cE '^step [13]/3  loss [0-9.]+  (val [0-9.]+  )?lr [0-9.e-]+  [0-9,]+ tok/s  [0-9.]+s left$' \
        <<< "$stderr") = 2 ]]
}

@test "NO_COLOR: the line is redrawn, as it has no colour" {
    NO_COLOR=1 run -0 on_terminal "tg-train -n 3 t.npz"
    [[ $output = *$'\rstep 3/3  loss '*$'\e[K'* && ! $output =~ $'\e['[0-9\;]*m ]]
}

@test "the progress line of a usual run fits in 79 columns" {
    slow
    tg-train -n 2000 --log /dev/null t.npz 2> err >&2 &
    local child=$!
    eventually grep -q '^step' err
    kill -USR1 $child
    eventually grep -q '^tg-train: step' err
    kill -TERM $child
    wait $child || [[ $? = 143 ]]
    [[ $(grep -c '/2,000  loss' err) -ge 2 ]]
    run -1 grep -n '^\(tg-train: \)\?step.\{76,\} left$' err
}

@test "a terminal is no place for a model, and no source of text" {
    run -2 on_terminal "tg-train"
    [[ $output = *"tg-train: no tokens: try  tg-tokenize < text | tg-train"* ]]
    run -2 on_terminal "tg-train -n 2 -o - t.npz"
    [[ $output = *"tg-train: standard output: the data is binary"*"-o FILE"* && $output != *needs* ]]
    run -2 on_terminal "tg-train -n 2 -m - t.npz < untrained.npz"
    [[ $output = *"tg-train: standard output: the data is binary"* ]]
    run -2 on_terminal "tg-train -n 2 -o /dev/tty t.npz"
    [[ $output = *"tg-train: /dev/tty: the data is binary"* && $output != *needs* ]]
    cmp model.npz untrained.npz
}

# ---- usage

# outside OPTION LOW HIGH BAD...: each BAD is refused with the range.
outside() {
    local option=$1 low=$2 high=$3 bad
    shift 3
    for bad; do
        run -2 --separate-stderr tg-train "$option" "$bad" t.npz
        is_output ""
        said "tg-train: $option must be between $low and $high, got $bad"
    done
}

@test "numbers out of range are refused with the range" {
    slow_unless_sanitized
    outside --steps 1 1000000000000 0 -1 1000000000001
    outside --batch 1 65536 0 65537
    outside --context 0 10000000 -1 10000001
    outside --accumulate 1 65536 0 65537
    outside --lr 0 1000 -1 1001
    outside --min-lr 0 1000 -1e-9 1e4
    outside --warmup 0 1000000000000 -1
    outside --beta1 0 0.999999 1 -0.1
    outside --beta2 0 0.999999 1 -0.1
    outside --momentum 0 0.999999 1 -0.1
    outside --weight-decay 0 1000 -1 1001
    outside --clip 0 1000000000 -1
    outside --dropout 0 0.99 1 -0.5
    outside --val-fraction 0 0.9 1 -0.1
    outside --eval-every 0 1000000000000 -1
    outside --save-every 0 1000000000000 -1
    outside --threads 0 1024 -1 1025
    cmp model.npz untrained.npz
}

@test "standard input once, names that are not empty, a plain number of threads" {
    run_pipe 2 'tg-train -n 2 t.npz - - < t.npz'
    said "tg-train: standard input (-) is given 2 times, but can be read only once"
    run -2 --separate-stderr tg-train -m "" t.npz
    said "tg-train: --model must be a file name, got ''"
    run -2 --separate-stderr tg-train -o "" t.npz
    said "tg-train: --output must be a file name, got ''"
    run -2 --separate-stderr tg-train --log= t.npz
    said "tg-train: --log must be a file name, got ''"
    if [[ $(getconf _NPROCESSORS_ONLN) -lt 128 ]]; then
        run -2 --separate-stderr tg-train --threads 1024 t.npz
        said "tg-train: --threads must be at most "
        [[ $stderr =~ " (8 for each of "[0-9]+" processor"s?"), got 1024"$ ]]
    fi
    cmp model.npz untrained.npz
}

@test "other usage errors" {
    run -2 --separate-stderr tg-train --lr nan t.npz
    said "--lr must be a number, got 'nan'"
    run -2 --separate-stderr tg-train --steps 1.5 t.npz
    said "--steps must be a whole number, got '1.5'"
    run -2 --separate-stderr tg-train --seed -1 t.npz
    said "--seed must not be negative, got -1"
    run -2 --separate-stderr tg-train --n-layer 3 t.npz
    said "unknown option --n-layer"
    run -2 --separate-stderr tg-train -n
    said "--steps needs a value"
    run -2 --separate-stderr tg-train --context 17 t.npz
    said "tg-train: --context 17 exceeds the model's 16"
    run -2 --separate-stderr tg-train -n 1000000000000 -b 2 t.npz
    said "tg-train: 1000000000000 steps of 1 passes of 2 sequences, expected a product below 1099511627776"
    run -2 --separate-stderr tg-train -t 2 t.npz
    said "unknown option -t"
    cmp model.npz untrained.npz
}

# ---- precision and instruction sets

@test "--precision bf16 trains like float32, with every instruction set" {
    slow
    local a b isa n tried=()
    make_text 20000 > text
    tg-tokenize text > t.npz
    tg-init --n-layer 2 --n-embd 64 --n-head 2 --n-ctx 32 -o start.npz
    tg-train -m start.npz -o plain.npz -n 60 --precision float32 t.npz 2> plain
    a=$(sed -n 's/.*step 60: .*validation loss \([0-9.]*\).*/\1/p' plain)
    for isa in "" avx2 portable; do # those that this machine has
        TG_ISA=$isa tg-train -m start.npz -o bf16.npz -n 60 --precision bf16 t.npz 2> bf16 || continue
        b=$(sed -n 's/.*step 60: .*validation loss \([0-9.]*\).*/\1/p' bf16)
        awk "BEGIN { exit !($a - $b < 0.02 && $b - $a < 0.02) }"
        [[ $(scalars bf16.npz train/precision) = bf16 ]]
        run ! cmp -s plain.npz bf16.npz
        # at any number of threads
        for n in 1 2 3; do
            TG_ISA=$isa tg-train -m start.npz -o $n.npz -n 8 --precision bf16 --threads $n t.npz
        done
        cmp 1.npz 2.npz
        cmp 1.npz 3.npz
        rm bf16.npz [123].npz
        tried+=("$isa.")
    done
    [[ ${tried[*]} == .* && ${tried[*]} == *portable. ]]
}

@test "a run in bf16 that was stopped resumes, byte for byte" {
    slow_unless_sanitized
    local at
    COMMAND=(tg-train --threads 2 -b 4 -n 60 --precision bf16 --dropout 0.1 -a 2 --eval-every 0 --save-every 0 t.npz)
    "${COMMAND[@]}" -o whole.npz 2> /dev/null
    run -130 --separate-stderr signalled 10 drain SIGINT -- "${COMMAND[@]}"
    at=$(step_of model.npz)
    [[ $at -ge 10 && $at -lt 60 ]]
    run -0 --separate-stderr "${COMMAND[@]}"
    [[ ${stderr_lines[0]} = "tg-train: model.npz: resuming at step $at of 60" ]]
    cmp model.npz whole.npz
}

@test "TG_ISA names the instruction set; all of them train to nearly the same loss" {
    slow
    make_text 20000 > text
    tg-tokenize text > t.npz
    tg-init --n-layer 2 --n-embd 64 --n-head 2 --n-ctx 32 -o start.npz
    tg-train -m start.npz -o best.npz -n 30 --precision float32 t.npz 2> best
    TG_ISA=portable tg-train -m start.npz -o portable.npz -n 30 --precision float32 t.npz 2> portable
    a=$(sed -n 's/.*step 30: .*validation loss \([0-9.]*\).*/\1/p' best)
    b=$(sed -n 's/.*step 30: .*validation loss \([0-9.]*\).*/\1/p' portable)
    awk "BEGIN { exit !($a - $b < 0.01 && $b - $a < 0.01) }"
    TG_ISA=z80 run -2 --separate-stderr tg-train -m start.npz -o no.npz t.npz
    said 'there is no instruction set z80 here; there are'
    [[ ! -e no.npz ]]
}
