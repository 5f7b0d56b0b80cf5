# --sandbox: what tools can no longer do once they read, and what they can still do.  tests/escape.c is the
# attacker: a library within the tool, which tries when the tool first writes.

load helper

setup_file() {
    tg_fixtures
    make_text 3000 > text
    tg-tokenize text > tokens.npz
    tg-init --n-layer 1 --n-embd 32 --n-head 2 --n-ctx 16 -o model.npz 2> /dev/null
    tg-attn-dump -m model.npz -p 'To be' -o dump.npz 2> /dev/null
    tg-convert model.npz --to hf -o hf 2> /dev/null
    [[ $(uname) != Linux ]] || ! command -v cc > /dev/null || cc -shared -fPIC -o escape.so "$ROOT/tests/escape.c"
}

setup() {
    tg_setup
    unset TG_SANDBOX
    need_plain_build
    tg-init --sandbox=require --n-embd 4 > /dev/null 2> why || skip "$(sed 's/^tg-init: //' why)"
    cp -a "$FIXTURES"/{text,tokens.npz,model.npz,dump.npz,hf} .
    mkdir other
}

need_attacker() {
    [[ -e $FIXTURES/escape.so ]] || skip "there is no C compiler"
    echo old > other/old
}

# attacked COMMAND: what the attacker can do in it: a line for each attempt, in the file `report`.
attacked() {
    ESCAPE_LOG=9 ESCAPE_TO=$PWD/other LD_PRELOAD=$FIXTURES/escape.so "$@" > out 2> err 9> report
}

# Each tool as an ordinary user calls it, by its name.
declare -gA work=(
    [tg-tokenize]="text -o out.npz"
    [tg-init]="--n-embd 4 -o new.npz"
    [tg-train]="-m model.npz -n 2 -b 2 --log log.tsv tokens.npz"
    [tg-sample]="-m model.npz -p To -n 3"
    [tg-attn-dump]="-m model.npz -p To"
    [tg-attn-view]="-o page.html dump.npz"
    [tg-bpe]="-n 260 -o bpe.json text"
    [tg-convert]="hf -o converted.npz"
    [tg-info]="model.npz"
    [tg-eval]="-m model.npz text"
    [tg-lens]="-m model.npz -p To -o lens.npz"
    [tg-patch]="-m model.npz -p To --corrupt Do --answer a"
    [tg-circuit]="-m model.npz"
)

# ---- what is refused

@test "an attacker within any tool can start, open, connect, trace and change nothing" {
    slow_unless_sanitized
    need_attacker
    attempts=0
    mkdir results
    for tool in "$BUILD"/bin/*; do
        name=${tool##*/}
        echo "$name"
        [[ -n ${work[$name]:-} ]]
        # shellcheck disable=SC2086
        (mkdir "results/$name" && cp -a text tokens.npz model.npz dump.npz hf "results/$name" &&
            cd "results/$name" && ESCAPE_LOG=9 ESCAPE_TO=$OLDPWD/other LD_PRELOAD=$FIXTURES/escape.so \
            "$name" --sandbox=require ${work[$name]} > out 2> err 9> report) || { cat "results/$name/err"; false; }
        run -1 grep -v ' refused$' "results/$name/report"
        [[ $(wc -l < "results/$name/report") -gt 20 ]]
        attempts=$((attempts + $(wc -l < "results/$name/report")))
    done
    [[ $(cat other/old) = old && ! -e other/new ]]
    cases $attempts "attempts in ${#work[@]} tools"
}

# So the attempts are real: the same library, in a program that confines nothing.
@test "the same attacker without a sandbox can" {
    need_attacker
    attacked cat text
    mv report plain
    for attempt in execve clone socket read create write truncate chmod unlink mmap mprotect prlimit setown setsig \
        msgsnd semop set-user-id set-group-id create-set-id setpriority setpriority-group setpriority-user affinity \
        scheduler schedparam schedattr inotify; do
        grep -qx "$attempt allowed" plain
    done
    rm other/new
    echo old > other/old
    attacked tg-sample --sandbox=off -m model.npz -p To -n 3
    diff plain report
    rm other/new
    echo old > other/old
    TG_SANDBOX=off attacked tg-sample -m model.npz -p To -n 3
    diff plain report
}

@test "the directory of an output is what may be written" {
    need_attacker
    ESCAPE_TO=$PWD attacked tg-tokenize --sandbox=require text # standard output
    grep -qx 'create refused' report
    mkdir results
    ESCAPE_LOG=9 ESCAPE_TO=$PWD/results LD_PRELOAD=$FIXTURES/escape.so tg-tokenize --sandbox=require -o results/a.npz \
        text 2> /dev/null 9> report
    grep -qx 'create allowed' report
    grep -qx 'read refused' report
    for attempt in set-user-id set-group-id create-set-id tmpfile-set-id openat2; do # no program with this user's rights
        grep -qx "$attempt refused" report
    done
    cmp results/a.npz tokens.npz
}

@test "with -t char and a pipe, the directory of temporary files is not allowed" {
    need_attacker
    mkdir temporary
    echo old > temporary/old
    TMPDIR=$PWD/temporary tg-tokenize -t char text > want.npz
    ESCAPE_LOG=9 ESCAPE_TO=$PWD/temporary TMPDIR=$PWD/temporary LD_PRELOAD=$FIXTURES/escape.so \
        tg-tokenize --sandbox=require -t char <(cat text) > out 2> /dev/null 9> report
    run -1 grep -v ' refused$' report
    grep -qx 'create refused' report
    cmp out want.npz
}

@test "many operands leave descriptors for the work" {
    run_pipe 0 "ulimit -n 48; TG_SANDBOX=require tg-info \$(yes hf/model.safetensors | head -n 200) | tail -n 1"
}

# ---- where the kernel lacks a part

@test "--sandbox=require insists, and auto goes without" {
    need_attacker
    for lack in '444 Landlock' '446 Landlock' '317 seccomp' '277 seccomp'; do
        read -r number name <<< "$lack"
        [[ $name = Landlock || $(uname -m)$number = x86_64317 || $(uname -m)$number = aarch64277 ]] || continue
        LACKS=$number attacked tg-info model.npz
        cp out found
        LACKS=$number run -3 --separate-stderr env LD_PRELOAD="$FIXTURES/escape.so" ESCAPE_LOG=9 \
            tg-info --sandbox=require model.npz 9> /dev/null
        said "there is no sandbox, which --sandbox=require asks for: $name: Function not implemented"
        is_output ''
    done
    tg-info model.npz | cmp - found
    # one is left without the other
    LACKS=444 attacked tg-sample -m model.npz -p To -n 3
    grep -qx 'socket refused' report
    grep -qx 'read allowed' report
}

@test "the mode comes from the option, else TG_SANDBOX" {
    need_attacker
    LACKS=444 TG_SANDBOX=require run -3 --separate-stderr env LD_PRELOAD="$FIXTURES/escape.so" ESCAPE_LOG=9 \
        tg-info model.npz 9> /dev/null
    LACKS=444 TG_SANDBOX=require attacked tg-info --sandbox=off model.npz
    TG_SANDBOX=no run -2 --separate-stderr tg-info model.npz
    said "TG_SANDBOX is no, expected one of auto|require|off"
    run -2 --separate-stderr tg-info --sandbox=none model.npz
    said "--sandbox must be one of auto|require|off, got 'none'"
    TG_SANDBOX='' tg-info model.npz > /dev/null
}

@test "a shortage of descriptors is an error in every mode" {
    for mode in auto require; do
        run_pipe 3 "exec 3>&- 4>&- 5>&- 6>&-; ulimit -n 4; tg-info --sandbox=$mode model.npz"
        said "cannot set up the sandbox: Landlock: Too many open files"
    done
}

# ---- what continues to work

# same COMMAND: with and without a sandbox the command writes the same, to its output and the file `made`.
same() {
    tried=$((tried + 1))
    rm -rf made
    TG_SANDBOX=off bash -o pipefail -c "$1" > expected 2> expected-err
    [[ ! -e made ]] || mv made expected-made
    TG_SANDBOX=require bash -o pipefail -c "$1" > out 2> err || { cat err; false; }
    cmp expected out
    diff <(sed 's/[0-9.,]* tok\/s.*//' expected-err) <(sed 's/[0-9.,]* tok\/s.*//' err)
    [[ ! -e made && ! -e expected-made ]] || { diff -r expected-made made && rm -rf expected-made; }
}

@test "inputs of every kind are read: files, links, pipes, directories, shards, vocabularies" {
    slow_unless_sanitized
    tried=0
    # a checkpoint as downloads leave it: links to files elsewhere
    mkdir blobs linked
    for file in hf/*; do
        cp "$file" "blobs/${file##*/}.blob"
        ln -s "../blobs/${file##*/}.blob" "linked/${file##*/}"
    done
    ln -s hf/model.safetensors link.safetensors
    ln -s "$PWD/model.npz" link.npz
    tg-bpe -n 300 text -o bpe.json 2> /dev/null
    tg-tokenize -t bpe.json --to npz > bpe.npz
    same "tg-sample -m hf -p To -n 3"
    same "tg-sample -m linked -p To -n 3"
    same "tg-sample -m hf/model.safetensors -p To -n 3"
    same "tg-sample -m linked/model.safetensors -p To -n 3"
    same "cd hf && tg-sample -m model.safetensors -p To -n 3"
    same "tg-sample -m link.npz -p To -n 3"
    same "tg-sample -m $PWD/model.npz -p To -n 3"
    same "TG_MODEL=$PWD/hf tg-sample -p To -n 3"
    same "tg-sample -p To -n 3"
    same "tg-sample -m - -p To -n 3 < model.npz"
    same "cat model.npz | tg-sample -m - -p To -n 3"
    same "cat model.npz | tg-sample -m /dev/stdin -p To -n 3"
    same "tg-sample -m /dev/stdin -p To -n 3 < model.npz"
    same "tg-eval -m model.npz <(cat text) text"
    same "tg-lens -m hf -p To --attribute b --keys"
    same "tg-lens -m - -p To < model.npz"
    same "tg-tokenize -t bpe.json text | tg-info"
    same "tg-tokenize -t bpe.npz text text | tg-info"
    same "tg-tokenize -m hf text | tg-info"
    same "tg-tokenize -t char text | tg-info"
    same "cat text | tg-tokenize -t char - text | tg-tokenize -d"
    same "cat text | TMPDIR=$PWD/other tg-tokenize -t char | tg-tokenize -d"
    same "tg-info hf linked model.npz dump.npz tokens.npz bpe.json"
    same "tg-info"
    same "tg-attn-dump --check dump.npz -m model.npz"
    same "tg-attn-view - < dump.npz"
    same "tg-lens -m model.npz -p To -o - | tg-attn-view"
    same "tg-attn-dump --example mha"
    cases $tried "commands"
}

@test "outputs of every kind are written: new, replaced, linked, special files, directories, logs" {
    slow_unless_sanitized
    tried=0
    mkdir deep
    echo other > old.npz
    ln -s deep/target.npz link.npz
    mkfifo fifo
    same "tg-init --n-embd 4 -o made"
    same "tg-init --n-embd 4 --force -o old.npz && cp old.npz made"
    same "tg-init --n-embd 4 -f -o link.npz && cp deep/target.npz made"
    same "tg-init --n-embd 4 -o /dev/null"
    same "tg-init --n-embd 4 -o /dev/stdout | cat"
    same "tg-init --n-embd 4 -o fifo | cat fifo"
    same "cd deep && tg-init --n-embd 4 -o ../made"
    same "tg-convert model.npz --to hf -o made"
    same "mkdir made && tg-convert model.npz --to hf -o made"
    same "tg-convert model.npz -o made --to gguf"
    same "tg-convert tokens.npz --to uint16 -o made"
    same "rm -f log && cp model.npz made && tg-train -m made -n 3 -b 2 --save-every 1 --log log tokens.npz && wc -l log"
    same "printf 'step\\tlo' > log && cp model.npz made && tg-train -m made -n 3 -b 2 --log log tokens.npz && wc -l log"
    same "tg-train -m hf -o made -n 2 -b 2 tokens.npz"
    same "tg-train -o - -m model.npz -n 2 -b 2 tokens.npz text.npz 2> /dev/null || true"
    same "tg-train -m model.npz -o - -n 2 -b 2 < tokens.npz | tg-info"
    same "mkdir -p logs && rm -f logs/* && tg-train -m model.npz -o made -n 2 -b 2 --log logs/new.tsv tokens.npz"
    same "rm -rf made.probe && tg-train -m model.npz -o made -n 2 -b 2 --probe To tokens.npz && ls made.probe"
    same "mkdir -p logs/probe && tg-train -m model.npz -o made -n 2 -b 2 --probe To --probe-dir logs/probe tokens.npz && ls logs/probe"
    same "tg-eval -m model.npz --logits -o made text"
    same "tg-lens -m model.npz -p To -o made"
    same "tg-lens -m model.npz -p To --attribute b -o made"
    same "tg-patch -m model.npz -p To --corrupt Do --metric kl -o made"
    same "tg-circuit -m model.npz -o made"
    same "tg-attn-dump -m model.npz -p To -o made"
    same "tg-sample -m model.npz -p To -n 3 --attention made"
    same "tg-attn-view dump.npz --png -o made"
    same "tg-bpe -n 270 -o made text 2> /dev/null" # it says how long it took
    cases $tried "commands"
}

@test "errors are the same with a sandbox" {
    slow_unless_sanitized
    tried=0
    mkdir closed
    same "! tg-sample -m absent.npz"
    same "! tg-sample -m closed"
    same "! tg-eval -m model.npz absent"
    same "! tg-init -o absent/model.npz"
    same "! tg-init -o closed"
    same "! tg-convert absent -o made"
    same "! tg-convert text -o made"
    same "! tg-train -m model.npz absent.npz"
    same "! tg-train -m model.npz --log absent/log tokens.npz"
    same "! tg-tokenize -t absent text"
    same "! tg-info closed"
    same "! tg-tokenize closed"
    same "! tg-tokenize -t closed text"
    same "! tg-tokenize -o closed text"
    same "! tg-bpe text closed"
    same "! tg-train -m model.npz closed"
    same "! tg-train -m model.npz --log closed tokens.npz"
    same "! tg-eval -m model.npz closed"
    same "! tg-lens -m absent.npz -p To"
    same "! tg-lens -m model.npz -p To -o absent/lens.npz"
    same "! tg-attn-dump --qkv closed"
    same "! tg-attn-view closed"
    same "! tg-convert hf --map closed -o made"
    cases $tried "commands"
}

@test "a file that is replaced while the sandbox is made is read as it was" {
    need_attacker
    for command in "tg-info model.npz" "tg-sample -m model.npz -p To -n 3"; do
        $command > want
        cp model.npz new.npz
        # shellcheck disable=SC2086
        REPLACE_BY=new.npz REPLACE=model.npz attacked $command --sandbox=require
        [[ ! -e new.npz ]]
        cmp out want
    done
}
