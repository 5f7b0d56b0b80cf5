# Runs that are killed or end by a signal: each file is the old or the new one, and the same command reaches the same
# bytes.

load helper
load faults

@test "killed at every system call of a save" {
    need_sweep
    LINES=$(third 1 "$(saving "$FAULT_COMMANDS")")
    few 6
    sweep_all kill "${FEW[@]}" -b rename,unlink,fsync # before and after each of these in any case
    swept "kills at system calls"
}

# In make soak at every system call, five hundred kills, after each of which training goes on to its end.
@test "killed at system calls of a run that saves at every step" {
    need_sweep
    LINES='tg-train -m run.npz -n 4 -b 1 --save-every 1 in/t.npz
tg-train -m in/m.npz -o new.npz -n 2 -b 1 --save-every 1 in/t.npz
tg-train -m run.npz -n 4 -b 1 --save-every 0 --eval-every 1 --keep-best in/t.npz
tg-train -m run.npz -n 4 -b 1 --save-every 1 --probe To --probe-every 1 in/t.npz'
    few 30
    sweep_all kill "${FEW[@]}"
    swept "kills at system calls of training"
}

# Whether ../log has the titles and then complete lines of steps 1 to 3, some of them perhaps twice; removes it.
make_log_check() {
    cat > ../check-log << 'SCRIPT'
[ -z "$(tail -c 1 ../log)" ] && awk -F '\t' '
    NR == 1 { bad = $0 != "step\tloss\tval_loss\tlr\tgrad_norm\ttokens_per_s\ttime_s"; next }
    NF != 7 || $1 !~ /^[1-9][0-9]*$/ || $1 > step + 1 || $7 == "" { bad = 1 }
    { step = $1 }
    END { exit bad || step != 3 }' ../log || bad=1
[ -z "$bad" ] || cat ../log >&2
rm ../log
[ -z "$bad" ]
SCRIPT
}

@test "killed at every write of a run with a log: no saved step is missing there" {
    need_sweep
    make_log_check
    LINES='tg-train -m in/m.npz -o new.npz -n 3 -b 1 --save-every 1 --eval-every 2 --log ../log in/t.npz
tg-train -m in/m.npz -o new.npz -n 3 -b 1 --save-every 2 --log ../log in/t.npz'
    sweep_all kill -c open,write,fsync,rename,close -a 'sh ../check-log'
    swept "kills at system calls of training with a log"
}

@test "killed at random moments of training" {
    need_sweep
    local threads kills=10
    ! soak || kills=100
    for threads in 1 2; do
        export OMP_NUM_THREADS=$threads
        sweep moments -m $kills -s $threads -- 'tg-train -m run.npz -n 40 -b 4 --save-every 1 in/t.npz'
    done
    swept "kills at random moments"
    [[ $CASES = $((2 * kills)) ]]
}

# A third of the commands that save with a signal for each number of threads; in make soak all of them with two.
@test "a signal after the system calls of a save: nothing is left, and the same command reaches the result" {
    need_sweep
    local threads
    few 6
    for threads in 1 2; do
        export OMP_NUM_THREADS=$threads
        LINES=$(third $((threads + 1)) "$(saving "$FAULT_COMMANDS")")
        [[ $threads = 2 ]] && ! soak || sweep_all stop -e SIGPIPE "${FEW[@]}" -b rename,unlink,fsync
        [[ $threads = 1 ]] && ! soak || sweep_all stop -e SIGTERM "${FEW[@]}"
    done
    swept "signals at system calls"
}

@test "any signal that ends a process, after the system calls of a save: no temporary file and no lock file is left" {
    need_sweep
    local signal
    for signal in ALRM VTALRM PROF USR1 USR2 POLL PWR STKFLT XCPU QUIT HUP INT; do
        LINES='tg-tokenize -o t.npz in/text
tg-train -m run.npz -n 4 -b 2 in/t.npz'
        case $signal in # which ask tg-train for something
            USR1 | HUP | INT) LINES=${LINES%%$'\n'*} ;;
        esac
        few 6
        sweep_all stop -e SIG$signal -c open,close,rename,unlink,flock "${FEW[@]}" -b rename,fsync,flock
    done
    swept "signals of any kind"
}

# While the main thread makes a temporary file, it blocks the signal.  The model is so wide that another thread was
# created to read it; that one gets the signal, and must not let it end the tool.
@test "a signal after every call on files, with threads at work: nothing is left" {
    need_sweep
    export OMP_NUM_THREADS=3
    tg-init -P tinygpt --n-embd 128 -o wide.npz 2> /dev/null
    LINES='tg-convert wide.npz --to hf --force -o hf
tg-convert wide.npz --to gguf --lossy --force -o m.gguf'
    sweep_all stop -e SIGPIPE -t 1 -c open,close,rename,unlink
    swept "signals at calls on files"
}

# order: whether the calls on standard input are those of saves, each in this order.
order() {
    awk 'function fail(why) { print why " at line " NR ": " $0; bad = 1 }
        $1 == "open" && $2 ~ /\.tg-[0-9a-f]+-[0-9]+-[0-9]+\.tmp$/ { temp = $NF; written = synced = 0 }
        $1 ~ /write$/ && temp != "" && $2 == temp { written = 1; synced = 0 }
        $1 == "fsync" && temp != "" && $2 == temp { synced = $NF == 0 }
        $1 == "close" && $2 == temp { temp = "" }
        $1 == "rename" { if (!written || !synced || renamed) fail("too early"); renamed = 1 }
        $1 == "open" && renamed && $2 ~ /(^|\/)\.$/ { directory = $NF }
        $1 == "fsync" && renamed && directory != "" && $2 == directory { saves++; renamed = 0; directory = "" }
        $1 == "write" && $2 == 2 && / saved / { if (renamed || !saves) fail("too early") }
        END { if (renamed || !saves) fail("not saved"); exit bad }'
}

@test "the order of a save: write, fsync, rename, fsync of the directory, then the message" {
    need_sweep
    LINES=$(saving "$FAULT_COMMANDS")
    local line
    while read -r line; do
        trace file "$line" > trace
        order < trace
        CASES=$((CASES + 1))
    done <<< "$LINES"
    grep -q 'write 2 tg-train: saved' <<< "$(trace file 'tg-train -m run.npz -n 3 -b 1 in/t.npz')"
    # the check notices another order
    for broken in '/^fsync/d' '0,/^fsync/{/^fsync/d}' '/^rename/{h;d};/^fsync/{p;g}' '/^rename/d'; do
        sed "$broken" trace > broken
        run order < broken
        [[ $status = 1 ]]
    done
    swept "saves"
}
