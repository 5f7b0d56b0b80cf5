# GGUF files, against other programs.

load helper

# judge PACKAGE: TG_JUDGE_PYTHON names a Python that has the packages to compare with.
judge() {
    [[ -n ${TG_JUDGE_PYTHON:-} ]] || skip "TG_JUDGE_PYTHON does not name a Python with $1"
    "$TG_JUDGE_PYTHON" -c "import $1" 2> /dev/null || skip "$TG_JUDGE_PYTHON has no $1"
    make_unit
}

@test "blocks and files: gguf" {
    judge gguf
    run -0 "$TG_JUDGE_PYTHON" "$ROOT/tests/judges/gguf_file.py" "$BUILD/unit/gguf_file"
    echo "$output"
}
