# Tab-separated text as others read it: Python's csv, sqlite3 and pandas find every row and every text, with no setting
# but the tab.  What is compared with is the bytes: lines cut at tabs.

load helper

setup_file() {
    tg_fixtures
    tg-init --n-layer 1 --n-head 1 --n-embd 4 --n-ctx 64 -o model.npz 2> /dev/null
    # quotes at the beginning, in the middle, doubled, at the end; commas, backslashes, and what shows nothing
    printf '"He said ""hi"", \\"ho\\"\tand\n\r\\x22 \\ \xc3\xa9\xe4\xb8\xad"\xff, ""' > text
    tg-bpe -n 262 --min-count 2 -o bpe.npz text 2> /dev/null
    tg-init -t bpe.npz --n-layer 1 --n-head 1 --n-embd 4 --n-ctx 64 -o bpe-model.npz 2> /dev/null
    cp model.npz 'a "model".npz'
    mkdir tables
    cd tables || return 1
    tg-eval -m ../model.npz --per-token --top 2 ../text 2> /dev/null > evals
    tg-tokenize --offsets ../text > offsets
    tg-tokenize -t ../bpe.npz --offsets ../text > offsets-bpe
    tg-attn-dump -m ../bpe-model.npz --pieces -f tsv < ../text > pieces
    tg-attn-dump -m ../model.npz --summary -f tsv < ../text > summary
    tg-lens -m ../model.npz --top 2 -f tsv < ../text > lens
    tg-lens -m ../model.npz --attribute '"' --keys -f tsv < ../text > parts
    tg-bpe -n 262 --min-count 2 --trace -f tsv ../text 2> /dev/null > trace
    tg-info --tsv '../a "model".npz' > info
}

setup() {
    tg_setup
    cd "$FIXTURES/tables" || return 1
}

# What a table has by its bytes, as a list of Python, one row a line.
by_bytes() {
    python3 -c '
import sys
for line in open(sys.argv[1], newline="\n", encoding="utf-8").read().removesuffix("\n").split("\n"):
    print(line.split("\t"))' "$1"
}

@test "no table has a quote, and those texts have some" {
    run -1 grep -F '"' evals offsets offsets-bpe pieces summary lens parts trace info
    for table in evals offsets offsets-bpe pieces lens parts trace info; do
        grep -qF '\x22' "$table"
    done
}

@test "Python's csv" {
    slow_unless_sanitized
    need python3
    for table in *; do
        python3 -c '
import csv, sys
for row in csv.reader(open(sys.argv[1], newline="", encoding="utf-8"), delimiter="\t"):
    print(row)' "$table" | diff - <(by_bytes "$table")
    done
}

@test "sqlite3" {
    slow_unless_sanitized
    need sqlite3
    need python3
    for table in *; do
        sqlite3 "$BATS_TEST_TMPDIR/$table.db" ".mode tabs" ".import $table rows"
        python3 -c '
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("select * from rows")
print([column[0] for column in rows.description])
for row in rows:
    print(list(row))' "$BATS_TEST_TMPDIR/$table.db" | diff - <(by_bytes "$table")
    done
}

@test "pandas" {
    need_judge pandas
    for table in *; do
        "$TG_JUDGE_PYTHON" -c '
import pandas, sys
rows = pandas.read_csv(sys.argv[1], sep="\t")
text = pandas.read_csv(sys.argv[1], sep="\t", dtype=str)
assert len(rows) == len(text)
print(list(rows.columns))
for row in text.itertuples(index=False):
    print(["" if value != value else value for value in row])' "$table" | diff - <(by_bytes "$table")
    done
}

@test "a text can be put together again from its tokens' texts" {
    need python3
    for table in offsets offsets-bpe; do
        python3 -c '
import csv, re, sys
def byte(escape):
    kind = escape[1]
    if kind in b"xuU":
        code = int(escape[2:], 16)
        return bytes([code]) if kind == ord("x") else chr(code).encode()
    return {ord("n"): b"\n", ord("t"): b"\t"}.get(kind, b"\\")
escape = re.compile(rb"\\(?:[nt\\]|x..|u....|U........)")
for row in csv.DictReader(open(sys.argv[1], newline="", encoding="utf-8"), delimiter="\t"):
    token = row["text"].encode()
    sys.stdout.buffer.write(token if token == b"\\" else escape.sub(lambda m: byte(m[0]), token))' "$table" |
            cmp - ../text
    done
}
