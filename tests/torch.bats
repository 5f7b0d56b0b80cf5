# PyTorch's and llm.c's files: the judges.

load helper

setup_file() {
    tg_environment || return 1
}

@test "what PyTorch writes is listed: names, types, shapes, bits" {
    slow
    [[ -n ${TG_JUDGE_PYTHON:-} ]] || skip "TG_JUDGE_PYTHON does not name a Python with torch"
    "$TG_JUDGE_PYTHON" -c "import torch" 2> /dev/null || skip "$TG_JUDGE_PYTHON has no torch"
    run -0 "$TG_JUDGE_PYTHON" "$ROOT/tests/judges/torch_file.py" "$BUILD/unit/list_torch"
}
