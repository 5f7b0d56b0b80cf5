# What tests/faults.bats and tests/crash.bats share: files to work on, the commands that are tried, and the
# driver (tests/faults/sweep.c) that runs them with faults.

setup_file() {
    [[ -z ${TG_QUICK:-} ]] || return 0 # all are slow
    tg_environment
    make_unit
    make_fault_files
}

# In $FIXTURES: a text, its tokens, models, vocabularies and dumps, all tiny.
make_fault_files() {
    tg_fixtures || return 1
    {
        make_text 1500 > text
        tg-bpe -n 262 -o bpe.npz text
        tg-bpe -n 262 -o bpe.json text
        tg-bpe -n 262 -o bpe.tiktoken text
        tg-tokenize -o t.npz text
        tg-tokenize -t bpe.npz -o tb.npz text
        tg-init --n-layer 1 --n-head 2 --n-embd 8 --n-ctx 8 -o m.npz
        tg-train -m m.npz -o run.npz -n 2 -b 2 t.npz
        tg-train -m m.npz -o done.npz -n 4 -b 2 --save-every 1 t.npz
        tg-convert run.npz --to hf --lossy -o hf
        tg-init -P baby-neox --n-layer 1 --n-head 1 --n-embd 8 --n-ctx 8 -o neox.npz
        tg-init --n-layer 2 --n-head 1 --n-embd 4 --n-ctx 8 -o two.npz
        tg-convert run.npz --to gguf --lossy -o run.gguf
        tg-convert run.npz --to safetensors --lossy -o run.safetensors
        tg-info --all run.safetensors | sed -n 's/^\(transformer\.\([^ ]*\)\) .*/\1 \2/p' > names
        tg-convert run.npz --to llmc --lossy -o run.bin
        tg-convert t.npz --to uint16 -o t.bin
        tg-attn-dump -m run.npz -p Tobe -o dump.npz
        tg-lens -m run.npz -p Tobe -o lens.npz
        tg-lens -m run.npz -p Tobe --attribute e -o parts.npz
        tg-circuit -m run.npz -o circuit.npz
        printf 'a b\nab c\n' > merges.txt
        printf 'step\tloss\tval_loss\tlr\tgrad_norm\ttokens_per_s\ttime_s\n1\t5.5\t\t1e-3\t1.3\t9\t0.1\n' > m.tsv
        printf 'abcab abc' > short
        make_old_files
    } 2> /dev/null
}

# What outputs replace: of the same kind, and never like the new one, else nobody would see that it stayed.
make_old_files() {
    mkdir old
    tg-tokenize -o old/t.npz short
    tg-bpe -n 258 -o old/bpe.npz short
    tg-bpe -n 258 -o old/back.json short
    tg-attn-dump --example mha -o old/dump.npz
    tg-attn-view -o old/d.png old/dump.npz
    tg-attn-view -o old/d.html old/dump.npz
    tg-attn-view -o old/l.svg old/dump.npz
    tg-eval -m m.npz -p abc --logits -o old/l.npz
    tg-lens -m m.npz -p abc -o old/lens.npz
    tg-lens -m m.npz -p abc --attribute b -o old/parts.npz
    tg-patch -m m.npz -p abc --corrupt abd --metric kl -o old/patch.npz
    tg-circuit -m m.npz -o old/circuit.npz
    tg-convert old/t.npz --to uint16 -o old/t.bin
    tg-convert old/t.npz --to llmc-tokens -o old/l.bin
    echo old | tee old/back old/m.gguf > old/m.safetensors # replaced with --force
}

# The commands, one a line.  They run in a directory with in, a link to $FIXTURES, and with what is made here:
# an old file at each place where one of them writes.  Marks before a command: < FILE is standard input, | FILE
# comes through a pipe, 2 is the status of what would replace work.
FAULT_COMMANDS='tg-tokenize -o t.npz in/text
tg-tokenize in/text
| in/text tg-tokenize
tg-tokenize -t char -o t.npz in/text
| in/text tg-tokenize -t char -o t.npz
tg-tokenize -t in/bpe.npz -o t.npz in/text
tg-tokenize -t in/bpe.json in/text
tg-tokenize -t in/bpe.tiktoken --pattern gpt2 in/text
tg-tokenize -m in/run.gguf in/text
tg-tokenize -d in/t.npz
< in/tb.npz tg-tokenize -d -o back
tg-tokenize -c in/t.npz in/text
tg-tokenize -t in/bpe.npz --offsets in/text
tg-tokenize -t in/bpe.npz --to tokenizer.json -o back.json
tg-init -P tinygpt --n-embd 8 -o m.npz
tg-bpe -n 262 -o bpe.npz in/text
tg-bpe -n 258 --trace in/short
tg-train -m in/m.npz -o new.npz -n 2 -b 2 in/t.npz
tg-train -m in/m.npz -o new.npz -n 2 -b 2 --master bf16 in/t.npz
tg-train -m in/m.npz -o new.npz -n 2 -b 2 --lora 2 --precision bf16 in/t.npz
tg-train -m run.npz -n 4 -b 2 --save-every 1 in/t.npz
tg-train -m run.npz -n 4 -b 2 --save-every 1 --log log in/t.npz
tg-train -m in/m.npz -o run.npz -n 4 -b 2 in/t.npz
tg-train -m run.npz -n 4 -b 2 --save-every 1 --eval-every 1 --keep-best --val in/t.npz in/t.npz
tg-train -m run.npz -n 4 -b 2 --save-every 1 --probe To --probe-every 1 in/t.npz
2 tg-train -m neox -n 4 -b 2 in/t.npz
2 tg-train -m in/m.npz -o new.npz -n 2 -b 2 --log run.npz in/t.npz
2 tg-init -P tinygpt -o run.npz
2 tg-attn-dump -m run.npz -p To -o run.npz
| in/t.npz tg-train -m in/hf -o new.npz -n 1 -b 1
tg-sample -m in/run.npz -p ab -n 4
tg-sample -m in/hf -n 2 --count 3 --precision bf16
tg-sample -m in/run.npz -p ab -n 4 --logprobs --attention dump.npz
tg-sample -m in/run.npz -p ab -n 2 --attention -
tg-attn-dump -m in/run.npz -p Tobe
tg-attn-dump -m in/run.npz -p Tobe -f jsonl
tg-attn-dump -m in/run.npz -p Tobe -o dump.npz
tg-attn-dump -m in/run.npz --check in/dump.npz
tg-attn-dump -m in/run.npz -p Tobe --summary
tg-attn-dump --summary --dump in/dump.npz
tg-attn-dump -m in/run.npz -p Tobeornot --ablate all
tg-attn-dump -m in/run.npz -p Tobe --trace 0,1,2,1 --backward --target x
tg-attn-dump --example mha
tg-circuit -m in/run.npz
tg-circuit -m in/neox.npz -f jsonl
tg-circuit -m in/neox.npz --tokens -k 1
tg-circuit -m in/run.npz -o circuit.npz
tg-circuit -m in/two.npz --compose
tg-attn-view in/dump.npz
tg-attn-view -o d.png in/dump.npz
tg-attn-view --svg in/dump.npz
tg-attn-view -o d.html in/dump.npz
tg-attn-view in/lens.npz
tg-attn-view -o d.png in/lens.npz
tg-attn-view --svg in/parts.npz
tg-attn-view in/circuit.npz
tg-convert in/run.npz --to hf --lossy --force -o hf
tg-convert in/neox.npz --to hf --force -o neox
tg-convert in/run.npz --to gguf --lossy --force -o m.gguf
| in/run.npz tg-convert - --to safetensors --lossy --force -o m.safetensors
tg-convert in/hf -o m.npz
tg-convert in/run.gguf
tg-convert in/run.bin
tg-convert in/run.safetensors --map in/names --heads 2 --lossy -o m.npz
tg-convert in/t.npz --to uint16 -o t.bin
tg-convert in/t.bin --from uint16 -o t.npz
tg-convert in/t.npz --to llmc-tokens -o l.bin
tg-info in/run.npz
tg-info --stats --json in/hf in/run.gguf
tg-info --check in/t.npz in/dump.npz
tg-info in/bpe.json
tg-info in/run.npz in/m.tsv
tg-info -o l.svg in/run.npz in/m.tsv
tg-info in/merges.txt in/m.tsv in/hf
tg-eval -m in/run.npz in/text
tg-eval -m in/run.npz -p Tobeornot --top 2
tg-eval -m in/hf -p Tobeornot --logits -o l.npz
tg-lens -m in/run.npz -p Tobe
tg-lens -m in/hf -p Tobe --top 2 -f jsonl
tg-lens -m in/run.npz -p Tobe -o lens.npz
tg-lens -m in/run.npz -p Tobe --attribute e-o --keys --neurons 3 -f tsv
tg-lens -m in/neox.npz -p Tobe --attribute e -o parts.npz
tg-patch -m in/run.npz -p Tobe --corrupt Todo --answer o --site pattern
tg-patch -m in/run.npz -p Tobe --corrupt Todo --metric kl --attribution
tg-patch -m in/run.npz -p Tobe --corrupt Todo --metric kl --site z -o patch.npz
tg-patch -m in/run.npz -p Tobe --corrupt Todo --metric kl --ablate zero --keep 0.0
tg-patch -m in/run.npz -p Tobe --corrupt Todo --metric kl --ablate zero --keep 0.0:logits
tg-patch -m in/run.npz -p Tobe --corrupt Todo --metric kl --path : -o patch.npz
tg-patch -m in/run.npz -p Tobe --corrupt Todo --metric kl --path 0.0: --attribution --steps 2'

make_fault_place() {
    ln -s "$FIXTURES" in
    cp in/run.npz in/m.npz .
    tg-convert m.npz --to hf --lossy -o hf 2> /dev/null
    echo >> hf/config.json
    echo old > hf/tokenizer.json
    tg-convert in/neox.npz --to hf -o neox
    echo >> neox/config.json
    cp in/old/* .
    sums_of_inputs > inputs.sums
}

# For tests with faults: skipped where tests/faults/faults.mk does not build the driver, or it cannot work.
need_sweep() {
    slow
    [[ -x $BUILD/faults/sweep ]] || skip "no faults for this system and build (tests/faults/faults.mk)"
    run "$BUILD/faults/sweep" trace true
    [[ $output != *'status 98'* ]] || skip "seccomp filters are not allowed here"
    [[ $status = 0 ]] || { echo "$output"; return 1; }
    make_fault_place
    CASES=0 FAILED=
}

# few N [MANY]: $FEW becomes the option for at most N cases of a sweep; in the long version for MANY, or all.
few() {
    FEW=(-m "$1")
    ! soak || FEW=(${2:+-m "$2"})
}

# third N [COMMANDS]: the lines N, N + 3, N + 6, ... of the commands; in the long version all of them.
third() {
    awk -v n="$1" -v all="$(soak && echo 1)" 'all || NR % 3 == n % 3' <<< "${2:-$FAULT_COMMANDS}"
}

# take_line LINE: $INPUT and $WORDS become what a line of FAULT_COMMANDS asks of the driver.
take_line() {
    INPUT=()
    read -ra WORDS <<< "$1"
    case ${WORDS[0]} in
        '<') INPUT=(-i "${WORDS[1]}") WORDS=("${WORDS[@]:2}") ;;
        '|') INPUT=(-I "${WORDS[1]}") WORDS=("${WORDS[@]:2}") ;;
        2) INPUT=(-x 2) WORDS=("${WORDS[@]:1}") ;;
    esac
    [[ $1 != *--save-every* ]] || INPUT+=(-r)
    [[ $1 != *tg-info* ]] || INPUT+=(-f) # of a file that is not mapped, it does not know the offsets
}

# sweep KIND [OPTION]... -- LINE: run a line of FAULT_COMMANDS with faults; adds the number of cases to $CASES.
sweep() {
    local options=() n
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    take_line "$2"
    n=$("$BUILD/faults/sweep" "${options[@]}" "${INPUT[@]}" "${WORDS[@]}") || FAILED=1
    CASES=$((CASES + ${n:-0}))
}

# trace CALLS LINE: the system calls of a line of FAULT_COMMANDS.
trace() {
    take_line "$2"
    "$BUILD/faults/sweep" trace -c "$1" "${INPUT[@]}" "${WORDS[@]}"
}

# sweep_all KIND [OPTION]...: all of $LINES (default: all commands).
sweep_all() {
    local line
    while read -r line; do
        sweep "$@" -- "$line"
    done <<< "${LINES:-$FAULT_COMMANDS}"
}

# saving COMMANDS: those that make files.
saving() {
    grep -E -- ' -o | --save-every ' <<< "$1" | grep -v '^2 '
}

# Of all inputs, which no command may change or add to: their names and sums.
sums_of_inputs() {
    (cd "$FIXTURES" && find . -type f -exec cksum {} + | sort -k 3)
}

# End a test: how many cases it has tried, and whether all passed.
swept() {
    cases "$CASES" "$1"
    diff inputs.sums <(sums_of_inputs)
    [[ $CASES -gt 0 && -z $FAILED ]]
}
