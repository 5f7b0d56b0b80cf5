# Before all tests, and after them.

# shellcheck source=tests/helper.bash
source "$BATS_TEST_DIRNAME/helper.bash"

setup_suite() {
    # the list of tests to run, in bats 1.8
    if [[ -z ${TG_QUICK:-} ]] && grep -qs 'pipeline\.bats' "${TESTS_LIST_FILE:-}"; then
        tg_environment
        begin_long_run
    fi
}

teardown_suite() {
    [[ -z ${LONG_RUN:-} || -e $LONG_RUN/status ]] || kill "$(cat "$LONG_RUN/pid")"
}
