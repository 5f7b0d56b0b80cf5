# Memory and files that fail: every tool ends with the result of an undisturbed run, or with an error, a line
# that says why, whole files and nothing else.  tests/faults/sweep.c checks that after each run.

load helper
load faults

# ---- memory

# With -m, other cases with each number of threads.  Of each command some allocations fail.
out_of_memory() {
    need_sweep
    export OMP_NUM_THREADS=$1
    few $((3 + $1))
    LINES=$(third "$1")
    sweep_all memory "${FEW[@]}"
    few $((2 + $1))
    LINES=$(third "$(($1 == 2 ? 1 : 3))")
    sweep_all memory -g "${FEW[@]}"
    swept "failing allocations, $1 threads"
}

@test "memory: the nth allocation fails, or all from it on" {
    out_of_memory 1
}

@test "memory: the same with two threads" {
    out_of_memory 2
}

# ---- system calls that fail

@test "errors of system calls: one, or all from one on" {
    need_sweep
    local error from=1 errors=(EIO ESTALE)
    if soak; then errors=(EIO ENOSPC EDQUOT ESTALE EACCES EMFILE); fi
    for error in "${errors[@]}"; do
        few 3
        LINES=$(third $from)
        sweep_all error -e $error "${FEW[@]}"
        LINES=$(third $((++from)))
        sweep_all error -g -e $error "${FEW[@]}"
    done
    swept "system calls that fail"
}

# In make soak every call of four commands, and again for thirteen kinds of calls, 1,000 runs in all.
@test "errors of system calls: those of a save, each for good" {
    need_sweep
    local call
    LINES='tg-tokenize -o t.npz in/text
| in/text tg-tokenize -t char -o t.npz
tg-train -m run.npz -n 4 -b 1 --save-every 1 in/t.npz
tg-train -m run.npz -n 4 -b 1 --save-every 0 --eval-every 1 --keep-best in/t.npz'
    few 20
    sweep_all error -e EDQUOT "${FEW[@]}"
    few 4
    for call in read write open close stat statfs fsync rename flock fchmod fchown getdents; do
        sweep_all error -g -e ENOSPC -c $call "${FEW[@]}"
    done
    swept "system calls of saves that fail"
}

@test "errors of stat: every one, with a model of several files and with bare numbers" {
    need_sweep
    LINES='tg-info in/hf
tg-convert in/hf -o m.npz
tg-convert in/t.bin --from uint16 -o t.npz'
    sweep_all error -e EIO -c stat
    sweep_all error -g -e EIO -c stat
    swept "stats that fail"
}

# The names in a directory decide what the sandbox allows: of a list that was cut short, the rest would be denied.
@test "errors of tg-info: with a vocabulary, a log, runs and a directory" {
    need_sweep
    LINES='tg-info in/bpe.json
tg-info in/run.npz in/m.tsv
tg-info in/merges.txt in/m.tsv in/hf'
    few 30
    sweep_all error -e EIO "${FEW[@]}"
    sweep_all error -g -e EIO "${FEW[@]}"
    sweep_all memory "${FEW[@]}"
    swept "calls of tg-info that fail"
}

@test "errors of stat: a model that another run has locked is never trained" {
    need_sweep
    exec 9> .tg-run.npz.lock
    flock 9
    LINES='tg-train -m run.npz -n 4 -b 2 in/t.npz'
    sweep_all error -x 3 -e EIO -c stat
    sweep_all error -g -x 3 -e EIO -c stat
    exec 9>&-
    swept "stats that fail during another run"
}

# NFS repeats a call whose reply got lost, and reports how that ends.
@test "errors after the effect, as with NFS" {
    need_sweep
    local error from=1 errors=(EIO ENOENT EINTR)
    if soak; then errors+=(ESTALE EXDEV); fi
    for error in "${errors[@]}"; do
        few 3
        LINES=$(third $((from++)) "$(saving "$FAULT_COMMANDS")")
        sweep_all late -e $error -c rename,fsync,close,flock,fchmod,fchown,mkdir,ftruncate,unlink "${FEW[@]}"
    done
    sweep late -o -e ENOENT -c rename -- 'tg-init -P tinygpt -o m.npz'
    swept "calls that report an error after their effect"
}

# Standard output of stdio is not written again after EINTR, but no signal handler lets that happen (below).  The
# manual pages of Linux name no EINTR for stat, access, unlink, lseek, readlink and getdents.
@test "interrupted system calls, every one or every other, change nothing" {
    need_sweep
    local calls=read,pread,pwrite,open,close,fsync,rename,flock,ftruncate,fchmod,fchown,mkdir
    few 3
    LINES=$(third 1)
    sweep_all error -o -e EINTR -c $calls "${FEW[@]}"
    few 2
    LINES=$(third 2)
    sweep_all error -o -g -e EINTR -c $calls "${FEW[@]}"
    LINES=$(third 3 "$(saving "$FAULT_COMMANDS")")
    few 2
    sweep_all error -o -g -e EINTR -c write "${FEW[@]}"
    swept "interrupted calls"
}

@test "no handler of a signal lets a system call be interrupted" {
    need_sweep
    local line
    while read -r line; do
        trace sigaction "$line" >> actions
        CASES=$((CASES + 1))
    done <<< "$FAULT_COMMANDS"
    grep -q 'restarts' actions
    # SIGBUS's ends the tool
    run -1 grep -v ' restarts = \| ignored = \| default = \| asked = \|sigaction 7 ' actions
    swept "commands"
}

# A reader who gets single bytes calls often.
@test "short reads and writes change nothing" {
    need_sweep
    few 2
    LINES=$(third 2)
    sweep_all short -o -c read,write,pread,pwrite "${FEW[@]}"
    few 1
    LINES=$(third 3)
    sweep_all short -o -g -c read,write,pread,pwrite "${FEW[@]}"
    swept "short reads and writes"
}

# ---- files and descriptors

@test "closed descriptors 0, 1, 2 in all combinations" {
    need_sweep
    LINES=$(third 1)
    sweep_all closed
    swept "commands with closed descriptors"
}

@test "a reader who leaves after any number of bytes" {
    need_sweep
    few 2 200
    LINES=$(third 2)
    sweep_all reader "${FEW[@]}"
    swept "readers that leave"
}

@test "a limit on the size of files, at any number of bytes" {
    need_sweep
    few 3 200
    LINES=$(third 3)
    sweep_all size "${FEW[@]}"
    swept "limits on the size of files"
}

@test "a device that is full" {
    slow
    need_dev_full
    make_fault_place
    local line n=0
    while read -r line; do
        [[ $line = tg-* && $line != *' -o '* && $line != *--save-every* ]] || continue
        run_pipe 3 "$line < /dev/null > /dev/full"
        [[ ${stderr_lines[-1]} = "${line%% *}: standard output: "*"No space left on device" ]]
        n=$((n + 1))
    done <<< "$FAULT_COMMANDS"
    cases $n "commands with a full device"
    [[ $n -gt 0 ]]
}

@test "a tiny file system, of any size" {
    slow
    need unshare
    local apart=(unshare -rm) line pages least n=0
    "${apart[@]}" mount -t tmpfs none /mnt 2> /dev/null || apart=(unshare -m)
    "${apart[@]}" mount -t tmpfs none /mnt 2> /dev/null || skip "no file system can be mounted"
    mkdir old want disk
    (cd old && make_fault_place)
    # what the files take there: whole pages
    least=$(find old -type f -printf '%s\n' | awk '{ n += int(($1 + 4095) / 4096) } END { print 4 * n }')
    while read -r line; do
        rm -rf want
        cp -a old want
        (cd want && eval "$line" < /dev/null 2> /dev/null)
        for pages in 1 4 8 12 16 20 24 28 32 40 48 64; do
            run --separate-stderr "${apart[@]}" bash -c "
                mount -t tmpfs -o size=$((least + 4 * pages))k none disk && cp -a old/. disk && cd disk || exit 99
                $line < /dev/null
                status=\$?
                if [[ \$status = 3 ]]; then diff -r --no-dereference . ../old >&2 || exit 98; fi
                if [[ \$status = 0 ]]; then diff -r --no-dereference . ../want >&2 || exit 97; fi
                exit \$status"
            [[ $status = 0 || ($status = 3 && ${stderr_lines[-1]} = *"No space left on device"*) ]]
            n=$((n + 1))
            [[ $status = 3 ]] || break
        done
    done < <(saving "$FAULT_COMMANDS" | grep '^tg-' | grep -v -- '--to hf\|--save-every')
    cases $n "runs on tiny file systems"
    [[ $n -gt 20 ]]
}

# as_user COMMAND: with the rights of a user who is not root.
as_user() {
    if [[ $(id -u) != 0 ]]; then
        "$@"
    else
        setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
    fi
}

# denied: the commands on standard input may not write, and change nothing; adds their number to $n.
denied() {
    local line
    while read -r line; do
        run --separate-stderr as_user bash -c "$line < /dev/null"
        [[ $status = 3 && ${stderr_lines[-1]} = tg-*": "*"Permission denied"* ]]
        [[ $(diff -r --no-dereference . ../want) = "" ]]
        n=$((n + 1))
    done
}

@test "directories and files that may not be written" {
    slow
    [[ $(id -u) != 0 ]] || need setpriv
    local n=0
    chmod go+rx "$BATS_RUN_TMPDIR" "$BATS_SUITE_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" . "$FIXTURES" 2> /dev/null || true
    as_user test -r "$FIXTURES/text" -a -x "$BUILD/bin/tg-init" || skip "another user cannot reach the files"
    mkdir place
    cd place
    make_fault_place
    cp -a . ../want
    # a directory in which nothing can be made
    chmod a+rx,a-w . hf
    denied < <(saving "$FAULT_COMMANDS" | grep '^tg-')
    # a file that may not be replaced, in a directory where others may be made
    chmod a+rwx . hf
    chmod 444 -- *.npz *.bin *.gguf *.html *.png back* hf/*
    denied < <(saving "$FAULT_COMMANDS" | grep '^tg-' | grep -vF new.npz)
    cases $n "commands without the right to write"
    [[ $n -gt 10 ]]
}

@test "a target that is a symbolic link: the link stays, its file is replaced whole or not at all" {
    need_sweep
    mkdir elsewhere
    mv t.npz elsewhere/real.npz
    ln -s elsewhere/real.npz t.npz
    ln -s t.npz link.npz
    ln -s elsewhere/none.npz dangling.npz
    few 20
    for line in 'tg-tokenize -o t.npz in/text' 'tg-tokenize -o link.npz in/text' \
        'tg-tokenize -o dangling.npz in/text'; do
        sweep error -e EIO "${FEW[@]}" -- "$line"
        sweep error -g -e EIO "${FEW[@]}" -- "$line"
        sweep kill "${FEW[@]}" -b rename,unlink,fsync -- "$line"
        sweep memory "${FEW[@]}" -- "$line"
    done
    swept "faults with links"
}
