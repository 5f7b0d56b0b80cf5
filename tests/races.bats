# Data races in training and tokenizing, as the thread sanitizer sees them: `make tsan`.  Each command runs with 2 and
# with 4 threads.

load helper
load races

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
