# The fuzzers without libFuzzer: their corpus, and mutations of it that are the same in every run, with the
# compiler and the flags of this build.  `make fuzz` and `make fuzz-bugs` need clang.

load helper

setup_file() {
    [[ -n ${TG_BUILD:-} ]] || make -C "$BATS_TEST_DIRNAME/.." -s fuzzers
}

# targets: the names in tests/fuzz/targets.
targets() {
    sed -n 's/^\([a-z_]*\) .*/\1/p' "$ROOT/tests/fuzz/targets"
}

# replay NAME HOW: run its corpus, with this argument for the driver.
replay() {
    unzip -qj "$ROOT/tests/fuzz/corpus/$1.zip" -d "$1"
    run -0 timeout 1800 "$BUILD/fuzz/$1" "$2" "$1"/* < /dev/null
}

# Whether the library's objects are those of -flto: gcc's have such sections, clang's begin with BC.
is_lto() {
    LC_ALL=C grep -qaF -e .gnu.lto_ -e $'BC\xC0\xDE' "$BUILD/libtg.a"
}

@test "fuzz: the corpus, and mutations of it" {
    slow_unless_sanitized
    need unzip
    inputs=0
    mutations=10
    ! soak || mutations=1000
    for name in $(targets); do
        replay "$name" "-$mutations"
        inputs=$((inputs + ${lines[-1]% inputs}))
    done
    [[ $inputs -gt 1000 ]]
    cases "$inputs" "inputs of $(targets | wc -l) fuzzers"
}

# Fifteen seconds of a processor: an input is read again for every eighth allocation or read that it needs (every one
# with TG_SOAK, 106,000 in all).  What a failure leaves behind is what the sanitizers see.
@test "fuzz: allocations and reads of the library that fail, one or all from one on, for each of the corpus" {
    [[ $BUILD = *asan* ]] || soak || skip "make VARIANT=asan check runs it, or make soak"
    need unzip
    if [[ ! -e $BUILD/libtg-failing.a ]]; then
        ! is_lto || skip "built with -flto: objcopy cannot rename the library's allocations"
        echo "no $BUILD/libtg-failing.a: make fuzzers first"
        false
    fi
    failures=0
    step=8
    ! soak || step=1
    for name in $(targets); do
        ASAN_OPTIONS=detect_leaks=0 replay "$name" "-failing$step"
        [[ ${lines[-1]} =~ ^[0-9]+\ inputs,\ ([0-9]+)\ failures$ ]]
        failures=$((failures + BASH_REMATCH[1]))
    done
    [[ $failures -gt 10000 ]]
    cases $failures "failures in $(targets | wc -l) fuzzers"
}

@test "fuzz: every fuzzer is in the table and has a corpus" {
    for file in "$ROOT"/tests/fuzz/fuzz_*.c; do
        name=${file##*/fuzz_}
        targets | grep -qx "${name%.c}"
        [[ -s $ROOT/tests/fuzz/corpus/${name%.c}.zip ]]
    done
    [[ $(targets | wc -l) = $(find "$ROOT/tests/fuzz" -name 'fuzz_*.c' | wc -l) ]]
    [[ $(targets | wc -l) = $(find "$ROOT/tests/fuzz/corpus" -mindepth 1 | wc -l) ]]
}

@test "fuzz: the planted bugs apply to the code as it is, twenty or more, each for a fuzzer that exists" {
    slow_unless_sanitized
    need patch
    bugs=0
    for bug in "$ROOT"/tests/fuzz/bugs/*.patch; do
        run -0 patch -d "$ROOT" -p1 --fuzz=0 --dry-run -s -i "$bug"
        targets | grep -qx "$(sed -n 's/^Target: //p' "$bug")"
        bugs=$((bugs + 1))
    done
    [[ $bugs -ge 20 ]]
    cases $bugs "planted bugs"
}
