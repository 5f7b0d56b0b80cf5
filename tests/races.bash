# For the tests of data races: files, and commands with several threads.

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
