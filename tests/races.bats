# Data races, as the thread sanitizer sees them: `make tsan`.  Each command runs with 2 and with 4 threads.

load helper

setup_file() {
    tg_fixtures
    [[ $BUILD = *tsan* ]] || return 0
    make_text 6000 > text
    tsan tg-tokenize text > tokens.npz
    tsan tg-init --n-layer 2 --n-embd 32 --n-head 2 --n-ctx 32 -o model.npz
    tsan tg-bpe -n 400 text -o bpe.json
}

setup() {
    tg_setup
    [[ $BUILD = *tsan* ]] || skip "not built with the thread sanitizer: make tsan"
    cp "$FIXTURES"/* .
}

tsan() {
    TSAN_OPTIONS="exitcode=66 halt_on_error=1" "$@"
}

# races COMMAND...: with 2 and 4 threads; what it prints is compared with one thread's.
races() {
    local threads
    tsan "$@" --threads 1 > one 2> err || { cat err; return 1; }
    for threads in 2 4; do
        tsan "$@" --threads $threads > several 2> err || { cat err; return 1; }
        cmp one several
    done
}

@test "the sanitizer sees a race" {
    need cc
    cat > race.c << 'EOF'
#include <pthread.h>
static volatile int n;
static void *add(void *p) /* many times: the sanitizer may miss two at the same moment */
{
    for (int i = 0; i < 100000; i++)
        n++;
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, add, NULL);
    add(NULL);
    pthread_join(t, NULL);
    return 0;
}
EOF
    cc -fsanitize=thread -g -o race race.c -pthread
    run -66 tsan ./race
}

@test "training: float32 and bf16, passes, dropout, saves, validation, a log" {
    for extra in "" "--precision bf16" "--accumulate 2 --dropout 0.1"; do
        for threads in 1 2 4; do
            cp "$FIXTURES/model.npz" "model-$threads.npz"
            # shellcheck disable=SC2086
            tsan tg-train -m "model-$threads.npz" --threads $threads -n 4 -b 4 --save-every 2 --eval-every 2 --log log \
                $extra tokens.npz 2> err || { cat err; false; }
            cmp model-1.npz "model-$threads.npz"
        done
    done
}

@test "training that is asked for its status, and stopped" {
    for threads in 2 4; do
        cp "$FIXTURES/model.npz" run.npz
        TSAN_OPTIONS="exitcode=66 halt_on_error=1" tg-train -m run.npz --threads $threads -n 100000 -b 4 \
            --save-every 3 --log log-$threads tokens.npz 2> err &
        until [[ -e log-$threads && $(wc -l < log-$threads) -gt 2 ]]; do
            kill -0 $! 2> /dev/null || { cat err; false; }
            sleep 0.1
        done
        kill -USR1 $!
        sleep 0.1
        kill -TERM $!
        wait $! || status=$?
        [[ $status = 143 ]] || { cat err; false; }
    done
}

@test "tokenizing: bytes, characters, byte pair encoding; learning a vocabulary" {
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do cat text; done > long
    races tg-tokenize long
    races tg-tokenize -t char long
    races tg-tokenize -t bpe.json long
    races tg-tokenize -t bpe.json --count long
    races tg-bpe -n 300 long
}

@test "dumping: lines, archives, summaries, derivations" {
    races tg-attn-dump -m model.npz -p 'To be, or not to be'
    races tg-attn-dump -m model.npz -p 'To be, or not to be' -o -
    races tg-attn-dump -m model.npz -p 'To be, or not to be' --summary
    races tg-attn-dump -m model.npz -p 'To be, or not to be' --ablate all
    races tg-attn-dump -m model.npz -p 'To be, or not to be' --trace 0,1,5,3 --backward --target '!'
}

@test "sampling and evaluating: several texts, bf16, int8, a long prompt" {
    races tg-sample -m model.npz -p To -n 20
    races tg-sample -m model.npz -p To -n 20 --count 5 --precision bf16
    races tg-sample -m model.npz -p To -n 20 --count 5 --precision int8
    races tg-sample -m model.npz -p "$(head -c 100 text)" -n 5
    races tg-eval -m model.npz text
    races tg-eval -m model.npz --logits text
    races tg-lens -m model.npz -p 'To be, or not to be'
    races tg-lens -m model.npz -p 'To be, or not to be' --attribute e --keys --neurons 2
}
