# What all tools share: options, messages, standard descriptors, signals.
load helper

setup() {
    tg_setup
    TOOLS=$(cd "$BUILD/bin" && echo tg-*)
    [[ $TOOLS != "tg-*" ]]
}

@test "--help: usage, options and exit codes on standard output, within 80 columns" {
    local tool
    for tool in $TOOLS; do
        run -0 --separate-stderr "$tool" --help
        [[ -z $stderr ]]
        [[ ${lines[0]} = "Usage: $tool "* ]]
        [[ $output = *"Options:"* && $output = *"--version"* && $output = *"Examples:"* ]]
        [[ ${lines[-1]} = "Exit status: 0 success, 1 bad data, 2 wrong usage, 3 I/O"* ]]
        if grep -n '.\{80,\}' <<< "$output"; then
            echo "$tool: lines of --help are too long"
            return 1
        fi
        run -0 --separate-stderr "$tool" -h
        [[ ${lines[0]} = "Usage: $tool "* ]]
    done
}

@test "--help shows the defaults that there are" {
    run -0 --separate-stderr tg-init --help
    [[ $output = *"(default: baby)"* && $output = *"(default: 0)"* ]]
    [[ $output = *"(default: bytes)"* ]]
    [[ $output = *"(default: auto)"* ]] # of --sandbox
    [[ $(grep -c default: <<< "$output") = 4 ]]
}

@test "-q and --quiet leave out notes, and nothing else" {
    printf 'some text, some text' > text
    # what -q leaves out; what the tools then print and write is the same
    silent() {
        local status=0
        "$@" > loud 2> notes
        "$1" -q "${@:2}" > quiet 2> err || status=$?
        cmp loud quiet
        [[ $status = 0 && -s notes && ! -s err ]] || { echo "$* -> $status:" && cat err && return 1; }
        "$1" "${@:2}" --quiet 2> err > quiet
        [[ ! -s err ]]
    }
    silent tg-init --n-embd 8 --n-head 2 --n-layer 1 --n-ctx 16
    tg-init --n-embd 8 --n-head 2 --n-layer 1 --n-ctx 16 -o model.npz 2> /dev/null
    silent tg-bpe -n 258 --min-count 2 text
    silent tg-eval --per-token text
    tg-bpe -q -n 258 --min-count 2 text > bpe.npz
    silent tg-tokenize -t bpe.npz -c text
    tg-attn-dump -p abc -o dump.npz
    silent tg-attn-view --html dump.npz
    tg-convert -q model.npz --to hf -o hf
    tg-tokenize -o t.npz text
    for quiet in -q --quiet; do
        run -0 --separate-stderr tg-train $quiet -m hf -o "new$quiet.npz" -c 8 -n 2 -b 1 --val-fraction 0 t.npz
        [[ -z $stderr && -z $output ]]
    done
    # errors, and warnings, stay
    run -3 --separate-stderr tg-info -q absent
    said "tg-info: absent: "
    run -2 --separate-stderr tg-init -q --n-head 7
    said "7 heads do not divide"
    run -0 --separate-stderr bash -c 'tg-bpe -q -n 300 text > bpe.npz'
    said "tg-bpe: only "
    head -c 100 /dev/zero | tr '\0' x > long
    run -0 --separate-stderr bash -c 'tg-sample -q -n 1 < long'
    said "the prompt has 100 tokens, which exceeds the context of 16"
}

@test "--version" {
    local tool
    for tool in $TOOLS; do
        run -0 --separate-stderr "$tool" -V
        version=$output
        run -0 --separate-stderr "$tool" --version
        is_output "$version"
        [[ $output =~ ^"$tool "[0-9]+\.[0-9]+\.[0-9]+(" ("[0-9a-f]{7,}(-dirty)?")")?$ ]]
        [[ -z $stderr ]]
    done
}

@test "an unknown option is one line and 2" {
    local tool
    for tool in $TOOLS; do
        run -2 --separate-stderr "$tool" --no-such-thing
        is_output ""
        said "$tool: unknown option --no-such-thing (see $tool --help)"
        run -2 --separate-stderr "$tool" -@
        said "$tool: unknown option -@"
    done
}

@test "long options may be abbreviated, but not so that they could be two" {
    tg-init --n-l 2 --n-emb=32 --pre tinygpt --out got.npz
    tg-init --n-layer 2 --n-embd 32 --preset tinygpt --output want.npz
    cmp got.npz want.npz
    run -2 --separate-stderr tg-init --n 2
    said "--n is ambiguous: --n-layer or --n-"
    run -2 --separate-stderr tg-init --l
    said "--l is ambiguous: --layer-norm-weight or --layer-norm-bias or --layer-norm-epsilon or --linear-bias"
    run -2 --separate-stderr tg-init --n-lay=x
    said "--n-layer must be a whole number, got 'x'"
    run -0 --separate-stderr tg-init --hel
    [[ ${lines[0]} = "Usage: tg-init "* ]]
}

@test "values: --name=value, --name value, -xvalue, -x value" {
    local form
    tg-init -o want.npz --preset tinygpt
    for form in "--preset=tinygpt" "-Ptinygpt" "-P tinygpt"; do
        # shellcheck disable=SC2086
        tg-init $form -o got.npz
        cmp got.npz want.npz
    done
    run -2 --separate-stderr tg-init -P
    said "--preset needs a value: tinygpt|"
    run -2 --separate-stderr tg-init --preset
    said "--preset needs a value: tinygpt|"
    run -2 --separate-stderr tg-tokenize --count=yes
    said "--count takes no value"
    run -2 --separate-stderr tg-init --preset=
    said "--preset must be one of tinygpt|"
}

@test "options and operands mix, -- ends options, letters go together" {
    printf 'a\n' > -xfile
    printf 'b\n' > b
    run -0 --separate-stderr tg-tokenize b -c -- -xfile
    is_output 4
    run -0 --separate-stderr tg-tokenize -c -- -xfile -
    is_output 2
    run -2 --separate-stderr tg-tokenize -c -xfile
    said "unknown option -x"
    run -2 --separate-stderr tg-tokenize -dc b
    said "--decode and --count cannot be combined"
}

@test "numbers are strict" {
    slow
    local bad
    for bad in "" " 3" "3 " 3x 0x3 3.0 +3 - .5k 1.k 1e 1e-1 1e+ 1e1k 3m 3kk k 1e1.5 1.2345k 1e3\ ; do
        run -2 --separate-stderr tg-init --n-layer "$bad"
        said "--n-layer must be a whole number, got '$bad'"
    done
    for bad in "" " 3" "3 " 3x 0x3 3.0 1e1 1k +3 -; do
        run -2 --separate-stderr tg-init --seed "$bad"
        said "--seed must be a whole number, got '$bad'"
    done
    for bad in -1 0 113 18446744073709551615 18446744073709551617 1k 1e999999999999 99999999999G -1e1 0e3; do
        run -2 --separate-stderr tg-init --n-layer "$bad"
        said "--n-layer must be between 1 and 112, got $bad"
    done
    run -2 --separate-stderr tg-init --seed -1
    said "--seed must not be negative, got -1"
    run -2 --separate-stderr tg-init --seed 18446744073709551616
    said "--seed must be at most 18446744073709551615, got 18446744073709551616"
    for bad in "" " 1" 1x nan inf -inf 0x1p-3 1e . --; do
        run -2 --separate-stderr tg-init --layer-norm-epsilon "$bad"
        said "--layer-norm-epsilon must be a number, got '$bad'"
    done
    run -2 --separate-stderr tg-init --layer-norm-epsilon 1e999
    said "--layer-norm-epsilon must fit a double, got 1e999"
    run -2 --separate-stderr tg-init --layer-norm-epsilon -0.5
    said "--layer-norm-epsilon must be between 1e-12 and 1, got -0.5"
}

@test "a message is one line without control characters, whatever an argument holds" {
    run -3 --separate-stderr tg-tokenize $'no\nsuch\e[31m\xff\xc2\x9bfile'
    said 'tg-tokenize: no\nsuch\x1B[31m\xFF\xC2\x9Bfile: No such file or directory'
    run -3 --separate-stderr tg-tokenize "ungefähr"
    said "tg-tokenize: ungefähr: No such file or directory"
    # nor characters that hide, or turn what follows them around
    run -3 --separate-stderr tg-tokenize $'a\xe2\x80\xaetxt.b\xe2\x81\xa6c\xe2\x80\x8bd\xe2\x80\xa8e\xf3\xa0\x81\x81f\xe2\x82\xac'
    said 'tg-tokenize: a\u202Etxt.b\u2066c\u200Bd\u2028e\U000E0041f'$'\xe2\x82\xac: No such file or directory'
    LC_ALL=C.UTF-8 run -2 --separate-stderr tg-init --preset $'x\xe2\x80\xaey'
    [[ $stderr = *"got 'x\u202Ey'"* ]]
}

@test "a name longer than a message leaves room for the reason" {
    local long
    long=$(printf 'directory/%.0s' {1..100})file
    run -3 --separate-stderr tg-tokenize "$long"
    said "directory/file: No such file or directory"
    run -3 --separate-stderr tg-sample -p x -m "$long"
    said "directory/file: No such file or directory"
    run -3 --separate-stderr tg-init -o "$long"
    [[ ${stderr_lines[-1]} = *"directory/file: "*": No such file or directory" ]]
}

@test "a tool that a loader starts is that tool" {
    local loader tool
    [[ $(uname) = Linux ]] || skip "Linux's loader"
    loader=$(echo /lib64/ld-linux-*.so.* /lib/ld-linux-*.so.* /lib/ld-musl-*.so.*)
    for loader in $loader none; do
        [[ -x $loader ]] && break
    done
    [[ -x $loader ]] || skip "no loader was found"
    for tool in $TOOLS; do
        run -0 "$loader" "$(command -v "$tool")" --version
        [[ $output =~ ^"$tool "[0-9]+\.[0-9]+\.[0-9]+( |$) ]]
    done
}

@test "an empty environment variable is ignored" {
    tg-attn-dump --example baseline > want
    TG_ISA='' TG_MODEL='' NO_COLOR='' OMP_NUM_THREADS='' tg-attn-dump --example baseline > got
    cmp got want
}

@test "OMP_NUM_THREADS is a number of threads, or an error" {
    local n
    for n in 1 2; do
        OMP_NUM_THREADS=$n run -0 tg-attn-dump --example baseline
    done
    OMP_NUM_THREADS=2,1 run -0 tg-attn-dump --example baseline # outer and inner loops
    OMP_NUM_THREADS='' run -0 tg-attn-dump --example baseline
    for n in 0 -1 x 2x 99999 ' 2'; do
        OMP_NUM_THREADS=$n run -2 --separate-stderr tg-attn-dump --example baseline
        said "tg-attn-dump: OMP_NUM_THREADS must be a number from 1 to "
        said "got '$n'"
        OMP_NUM_THREADS=$n run -0 tg-attn-dump --example baseline --threads 1
    done
}

@test "standard input is read once, and a file has a name" {
    run_pipe 2 'echo x | tg-tokenize -c - -'
    said "tg-tokenize: standard input (-) is given 2 times, but can be read only once"
    run_pipe 2 'echo x | tg-tokenize -o t.npz - -- -'
    said "tg-tokenize: standard input (-) is given"
    [[ ! -e t.npz ]]
    run -2 --separate-stderr tg-init --output=
    said "tg-init: --output must be a file name, got ''"
    run -2 --separate-stderr tg-sample -m "" -p x
    said "tg-sample: --model must be a file name, got ''"
}

# ---- signals

@test "a signal that ends a tool leaves no temporary file, and the old file as it was" {
    local signal child i
    mkfifo pipe
    echo old > t.npz
    for signal in INT TERM HUP; do
        # python: a shell starts what is in its background with SIGINT ignored, nohup with SIGHUP
        need python3
        python3 -c '
import os, signal, sys
for number in (signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' tg-tokenize --force -o t.npz pipe 3>&- &
        child=$!
        exec 8> pipe
        eventually compgen -G '.tg-*.tmp'
        kill -s $signal $child
        i=0
        wait $child || i=$?
        exec 8>&-
        [[ $i = $((128 + $(kill -l $signal))) ]]
        run -1 compgen -G '.tg-*.tmp'
        [[ $(cat t.npz) = old ]]
    done
}

@test "no memory for the kernels' test is an error, not a reason for other kernels" {
    need_plain_build
    tg-attn-dump --example baseline > want
    failed=0
    # from what the loader needs to what the tool needs
    for ((limit = 4000; limit <= 20000; limit += 1000)); do
        run --separate-stderr bash -c "ulimit -v $limit
            OMP_NUM_THREADS=1 tg-attn-dump --example baseline; s=\$?; exit \${s/127/9}" # 127: the loader failed
        if [[ $stderr = *"out of memory"* ]]; then
            [[ $status = 3 && $output = "" ]]
            failed=$((failed + 1))
        elif [[ $status = 0 ]]; then
            is_output "$(cat want)"
        fi
    done
    [[ $failed -gt 0 ]]
}

# need_faults CALL:error=WHY... [PATH]: $FAULTY before a command makes its system calls (on PATH) fail, as strace says.
need_faults() {
    need strace
    strace -o /dev/null true 2> /dev/null || skip "strace is not allowed"
    need_plain_build
    FAULTY="strace -f -o trace ${2:+-P $2} -e trace=${1%%:*} -e inject=$1"
}

# make_short_run: tokens, a model twice (start, got), and what two steps make of it (want).
make_short_run() {
    make_text 3000 | tg-tokenize -o t.npz
    tg-init -P tinygpt -o start.npz 2> /dev/null
    cp start.npz want.npz
    tg-train -m want.npz -n 2 -b 2 -c 16 --threads 1 t.npz 2> /dev/null
    cp start.npz got.npz
}

@test "little memory, two threads: the whole result, or an error and the old file" {
    slow
    need_plain_build
    local limit failed=0 done=0
    make_short_run
    for ((limit = 4000; limit <= 60000; limit += 2000)); do
        run --separate-stderr bash -c "ulimit -v $limit
            tg-train -m got.npz -n 2 -b 2 -c 16 --threads 2 t.npz; s=\$?; exit \${s/127/9}" # 127: the loader failed
        run -1 compgen -G '.tg-*'
        if [[ $stderr = *"out of memory"* ]]; then
            cmp got.npz start.npz
            failed=$((failed + 1))
        elif [[ $stderr = *saved* ]]; then
            cmp got.npz want.npz
            cp start.npz got.npz
            done=$((done + 1))
        fi
    done
    [[ $failed -gt 0 && $done -gt 0 ]]
}

@test "no threads: the same result" {
    need_faults clone,clone3:error=EAGAIN
    make_short_run
    run_pipe 0 "$FAULTY tg-train -m got.npz -n 2 -b 2 -c 16 --threads 2 t.npz"
    grep -q 'EAGAIN' trace
    cmp got.npz want.npz
}

@test "a file size limit is an error of the write, and leaves nothing" {
    echo old > model.npz
    run -3 --separate-stderr bash -c 'ulimit -f 100; exec tg-init --force -o model.npz'
    [[ ${stderr_lines[-1]} = "tg-init: model.npz: "*"File too large" ]]
    [[ $(cat model.npz) = old ]]
    run -1 compgen -G '.tg-*.tmp'
}

@test "a file that is shortened while it is mapped is an error, with a message, in every thread" {
    slow_unless_sanitized
    local i threads
    [[ -e /proc/self/maps ]] || skip "looks into Linux's /proc"
    make_text 5000 > text
    tg-init -P baby --n-layer 12 -o m.npz
    cp m.npz cut.npz
    run_pipe 3 "tg-convert cut.npz --to safetensors --dtype bf16 |
        { head -c 1 > /dev/null; truncate -s 100000 cut.npz; cat > /dev/null; }"
    [[ ${stderr_lines[-1]} = "tg-convert: a file that is read has become shorter, or cannot be read" ]]
    for threads in 1 2 2 2; do
        cp m.npz cut.npz
        run -3 --separate-stderr bash -c "{ eventually mapped cut.npz; truncate -s 20000 cut.npz; cat text; } |
            tg-eval -m cut.npz --threads $threads"
        said "tg-eval: a file that is read has become shorter, or cannot be read"
    done
    cp m.npz cut.npz
    echo old > dump.npz
    run -3 --separate-stderr bash -c "{ eventually mapped cut.npz; truncate -s 20000 cut.npz; echo text; } |
        tg-attn-dump -m cut.npz --force -o dump.npz"
    said "tg-attn-dump: a file that is read has become shorter, or cannot be read"
    [[ $(cat dump.npz) = old ]]
    run -1 compgen -G '.tg-*'
}

# ---- standard descriptors

@test "closed standard input is an error where it is read" {
    run_pipe 3 'tg-tokenize <&-'
    is_output ""
    said "tg-tokenize: standard input: cannot read at offset 0: Bad file descriptor"
    run_pipe 3 'tg-tokenize -c <&-'
    said "tg-tokenize: standard input: cannot read at offset 0: Bad file descriptor"
    # and a file that is opened does not land there
    echo x > text
    run_pipe 0 'tg-tokenize -c text <&-'
    is_output 2
}

@test "closed standard output is an error where it is written" {
    echo x > text
    run_pipe 3 'tg-tokenize text >&-'
    said "tg-tokenize: standard output: "
    [[ $stderr = *"Bad file descriptor" ]]
    run_pipe 3 'tg-tokenize -c text >&-'
    said "tg-tokenize: standard output: Bad file descriptor"
    run_pipe 3 'tg-init --version >&-'
    said "tg-init: standard output: Bad file descriptor"
    run_pipe 0 'tg-tokenize -o t.npz text >&-'
    tg-tokenize -d t.npz | cmp - text
}

@test "closed standard error: no message, the same status, and no file takes its place" {
    echo x > text
    run_pipe 3 'tg-tokenize missing 2>&-'
    is_output ""
    run_pipe 0 'tg-init -o model.npz 2>&-'
    tg-init -o want.npz
    cmp model.npz want.npz
    run_pipe 0 'tg-tokenize -o t.npz text <&- >&- 2>&-'
    tg-tokenize -d t.npz | cmp - text
}

@test "an interrupted system call is repeated" {
    slow
    local file
    make_text 3000 > text
    tg-init -P tinygpt -o model.npz 2> /dev/null
    tg-bpe -n 260 -o bpe.npz text 2> /dev/null
    tg-convert model.npz --to hf --lossy -o hf 2> /dev/null
    # every other one: of a save,
    need_faults rename,fchmod,fchown,fsync,flock,ftruncate,write:error=EINTR:when=1+2
    tg-tokenize -o want.npz text
    echo old > t.npz
    run_pipe 0 "$FAULTY tg-tokenize --force -o t.npz text"
    cmp t.npz want.npz
    for call in rename fchmod fsync flock write; do grep -q "$call(.*EINTR" trace; done
    run_pipe 0 "$FAULTY tg-tokenize text | cmp - want.npz"
    cp model.npz new.npz
    run_pipe 0 "$FAULTY tg-train -m new.npz -n 1 -b 1 -c 8 t.npz"
    cp model.npz want.npz
    tg-train -m want.npz -n 1 -b 1 -c 8 t.npz 2> /dev/null
    cmp new.npz want.npz
    # and of reading
    for file in text model.npz bpe.npz hf/config.json hf/model.safetensors t.npz; do
        need_faults openat,read:error=EINTR:when=1+2 "$file"
        : > all
        for command in 'tg-tokenize -t bpe.npz text' 'tg-tokenize -c text' 'tg-eval text' 'tg-info model.npz hf' \
            'tg-eval -m hf text' 'tg-convert hf --to gguf' 'tg-convert t.npz --to uint16' 'tg-bpe -n 257 text'; do
            run_pipe 0 "$command | cksum"
            said=$output
            run_pipe 0 "$FAULTY $command | cksum"
            is_output "$said"
            cat trace >> all
        done
        grep -q 'openat(.*EINTR' all
    done
}

@test "closing standard output may fail where nothing was written there" {
    need_faults close:error=EIO "$PWD/out"
    echo x > text
    run_pipe 0 "$FAULTY tg-tokenize -o t.npz text > out"
    [[ -z $stderr ]]
    # not where something was
    for command in 'tg-tokenize text' 'tg-tokenize -c text' 'tg-tokenize --version'; do
        run_pipe 3 "$FAULTY $command > out"
        said "standard output: Input/output error"
        grep -q 'close(1.*EIO' trace
    done
}

@test "a full disk is noticed" {
    slow_unless_sanitized
    need_dev_full
    local tool
    echo x > text
    tg-tokenize -o t.npz text
    for tool in $TOOLS; do
        for option in --help --help=zsh; do
            run_pipe 3 "$tool $option > /dev/full"
            said "$tool: standard output: No space left on device"
        done
    done
    run_pipe 3 'tg-tokenize text > /dev/full'
    said "tg-tokenize: standard output: "
    [[ $stderr = *"No space left on device" ]]
    run_pipe 3 'tg-tokenize -c text > /dev/full'
    said "tg-tokenize: standard output: No space left on device"
    run_pipe 3 'tg-tokenize -d t.npz > /dev/full'
    said "tg-tokenize: standard output: "
    [[ $stderr = *"No space left on device" ]]
    run_pipe 3 'tg-init > /dev/full'
    [[ ${stderr_lines[-1]} = "tg-init: standard output: "*"No space left on device" ]]
}

@test "a reader that goes away ends the tool quietly" {
    make_text 4000000 > text
    tg-tokenize -o t.npz text
    run -0 --separate-stderr bash -c 'tg-tokenize -d t.npz | head -n 1; echo "${PIPESTATUS[0]}"'
    is_output "line 0: the quick brown fox, 0 jumps
141"
    [[ -z $stderr ]]
    run -0 --separate-stderr bash -c 'tg-tokenize text | head -c 1 | wc -c; echo "${PIPESTATUS[0]}"'
    is_output "1
141"
    [[ -z $stderr ]]
}

@test "where SIGPIPE is ignored, a reader that goes away is a write error" {
    make_text 4000000 > text
    run -0 --separate-stderr bash -c 'trap "" PIPE; tg-tokenize text | head -c 1 | wc -c; echo "${PIPESTATUS[0]}"'
    is_output "1
3"
    said "tg-tokenize: standard output: "
    [[ $stderr = *"Broken pipe" ]]
}

@test "an archive does not go to a terminal" {
    need script
    local status=0 shown
    echo x > text
    shown=$(on_terminal "tg-init") || status=$?
    [[ $status = 2 ]]
    [[ $shown = *"tg-init: standard output: the data is binary"*"-o FILE"* ]]
    status=0
    shown=$(on_terminal "tg-tokenize text") || status=$?
    [[ $status = 2 ]]
    [[ $shown = *"tg-tokenize: standard output: the data is binary"*"-o FILE"* ]]
    status=0
    shown=$(on_terminal "tg-tokenize -o /dev/tty text") || status=$?
    [[ $status = 2 ]]
    [[ $shown = *"tg-tokenize: /dev/tty: the data is binary"* ]]
    tg-tokenize -o t.npz text
    status=0
    shown=$(on_terminal "tg-train -c 1 -n 1 -b 1 -m new.npz -o /dev/tty t.npz") || status=$?
    [[ $status = 2 ]]
    [[ $shown = *"tg-train: /dev/tty: the data is binary"* && $shown != *"needs"* ]]
}

@test "decoded text controls no terminal" {
    printf 'a\e[31mb\e]0;title\a\xc2\x9b1mc\r\xe2\x82\xacd\tx\n\xe2\x80\x8d\xff\xe2\x82' > text
    printf 'a\\x1B[31mb\\x1B]0;title\\x07\\xC2\\x9B1mc\\x0D\xe2\x82\xacd\tx\n\xe2\x80\x8d\\xFF\\xE2\\x82' > want
    tg-tokenize -o t.npz text
    tg-tokenize -t char text > c.npz
    on_terminal 'tg-tokenize -d t.npz' | tr -d '\r' | cmp - want
    on_terminal 'tg-tokenize -d c.npz' | tr -d '\r' | cmp - want
    on_terminal 'tg-tokenize --ids t.npz | tg-tokenize -d --ids -t bytes' | tr -d '\r' | cmp - want
    on_terminal 'tg-tokenize -d t.npz > got'
    cmp got text
}

@test "decoded text and counts may go to a terminal" {
    need script
    echo hello > text
    tg-tokenize -o t.npz text
    [[ $(on_terminal "tg-tokenize -d t.npz") = hello* ]]
    [[ $(on_terminal "tg-tokenize -d -o /dev/tty t.npz") = hello* ]]
    [[ $(on_terminal "tg-tokenize -c text") = 6* ]]
}
