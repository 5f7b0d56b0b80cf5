# Files of every format that are wrong in one way each, named after it (tests/bad_files.py): one line that names the
# file and says what is wrong, exit 1 (2 where it was to be written to), and nothing is written.

load helper

setup_file() {
    tg_fixtures || return 1
    command -v python3 > /dev/null || return 0
    echo 'text that is long enough to train on' | tg-tokenize > t.npz
    tg-init --n-layer 1 --n-head 1 --n-embd 2 --n-ctx 4 -o m.npz 2> /dev/null
    tg-train -m m.npz -o run.npz -n 2 -b 1 --val-fraction 0.4 t.npz 2> /dev/null
    python3 "$ROOT/tests/bad_files.py" "$FIXTURES"
}

setup() {
    tg_setup
    slow_unless_sanitized
    need python3
    export OMP_NUM_THREADS=1
}

# give READER FILE: to a tool that reads such a file, and would write into the directory out
give() {
    case $1 in
        model) tg-convert "$2" -o out/model.npz ;;
        tokenizer) tg-tokenize -t "$2" -o out/tokens.npz text ;;
        pattern) tg-tokenize -t "$2" --pattern gpt2 -o out/tokens.npz text ;;
        tokens) tg-convert "$2" --to uint16 -o out/ids.bin ;;
        ids) tg-convert "$2" --from uint16 -o out/ids.npz ;;
        300-ids) tg-convert "$2" --from uint16 --vocab-size 300 -o out/ids.npz ;;
        map) tg-convert "$FIXTURES/safetensors/good/" --map "$2" -o out/model.npz ;;
        qkv) tg-attn-dump --qkv "$2" -o out/dump.npz ;;
        dump) tg-attn-view "$2" -o out/page.html ;;
        arrays) tg-info --check "$2" ;;
        run) tg-train -m "$2" -o out/m.npz -n 3 -b 1 "$FIXTURES/t.npz" ;;
        log) tg-train -m "$FIXTURES/m.npz" -o out/m.npz -n 1 -b 1 --val-fraction 0 --log "$2" "$FIXTURES/t.npz" ;;
        history) tg-info "$2" ;;
    esac > stdout 2> stderr < /dev/null
}

# Whether the result is as the table says: status of the tool, FILE, WORDS, READER.  Without other programs, which
# would take longer than the tools.
as_it_should() {
    local want=1 lines made=(out/*)
    if [[ $3 = ok ]]; then
        [[ $1 = 0 ]]
        return
    fi
    [[ $4 != log ]] || want=2
    mapfile -t lines < stderr
    [[ $1 = "$want" && ! -s stdout && ${#lines[@]} = 1 && ${#made[@]} = 0 ]] &&
        [[ ${lines[0]} = *"${2%/}"* && ${lines[0]} = *"$3"* && ${lines[0]} != *[![:print:]]* ]]
}

# all of FOLDER...
refused() {
    local file reader words status folder bad=0 tried=0
    shopt -s nullglob dotglob
    echo text > text
    mkdir out
    for folder in "$@"; do
        ln -s "$FIXTURES/$folder" .
    done
    while IFS=$'\t' read -r file reader words; do
        [[ " $* " = *" ${file%%/*} "* ]] || continue
        status=0
        give "$reader" "$file" || status=$?
        if ! as_it_should "$status" "$file" "$words" "$reader"; then
            bad=$((bad + 1))
            echo "$file: expected \"$words\", got status $status, $(ls -A out) $(head -c 400 stderr)"
        fi
        for file in out/*; do
            rm -rf "$file"
        done
        tried=$((tried + 1))
    done < "$FIXTURES/list"
    cases "$tried" "files: $*"
    [[ $bad = 0 && $tried -gt 0 ]]
}

@test "bad files: zip and npy" { refused zip npy; }
@test "bad files: safetensors, its index, config.json" { refused safetensors index config; }
@test "bad files: GGUF" { refused gguf; }
@test "bad files: vocabularies in GGUF" { refused gguf-vocabulary; }
@test "bad files: PyTorch's pickles" { refused pickle meta.pkl; }
@test "bad files: llm.c, bare ids" { refused llmc uint16; }
@test "bad files: maps of tensors' names" { refused map; }
@test "bad files: tokenizer.json, vocab.json and merges.txt, .tiktoken" { refused tokenizer.json gpt2-files tiktoken; }
@test "bad files: logs of training, appended to and shown" {
    (cd "$FIXTURES" && cksum log/* > log-before)
    refused log history
    # those that are refused are left as they were
    (cd "$FIXTURES" && cksum log/* | diff log-before - | grep '^[<>]' | grep -v /good > changed) || true
    [[ ! -s $FIXTURES/changed ]]
}
@test "bad files: runs" { refused run; }
@test "bad files: dumps and tokens, with right checksums" { refused dump tokens; }
