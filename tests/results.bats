# docs/results.md, and tests/bench/results, which trains its models again.

load helper

setup_file() {
    tg_fixtures
    make_text > text
}

setup() {
    tg_setup
    cp "$FIXTURES/text" .
}

# page SUM-OF-TEXT SUM-OF-MODEL
page() {
    cat << END
# Results

## other

    echo 'no row of this text'

## tiny

    sha256sum --quiet --check <<< '$1  text'
    tg-tokenize -q text > tokens.npz
    tg-init -q --n-layer 1 --n-head 2 --n-embd 16 --n-ctx 16 -s "\$seed" -o model.npz
    tg-train -q -m model.npz --seed "\$seed" --steps 3 --threads 1 tokens.npz
    tg-eval -m model.npz text
    tg-sample -q -m model.npz -p Once -n 5

| Seed | Processor seconds | Bits per byte | SHA-256 of the model |
|---|---|---|---|
| 3 | 0 | 8.1 | \`$2\` |

It continues:

\`\`\`text
Once
    exit 3
\`\`\`
END
}

@test "a row is trained again, and its bytes are compared" {
    slow_unless_sanitized
    local sum model zeros
    sum=$(sha256sum < text | cut -d ' ' -f 1)
    zeros=$(printf '0%.0s' {1..64})
    page "$sum" "$zeros" > page.md
    run -1 "$ROOT/tests/bench/results" page.md text
    [[ ${lines[0]} = tiny ]]
    [[ ${lines[1]} =~ ^\|\ 3\ \|\ [0-9]+\ \|\ [78]\.[0-9]+\ \|\ \`([0-9a-f]{64})\`\ \|\ other\ bytes$ ]]
    model=${BASH_REMATCH[1]}
    [[ $output = *$'\nbits/byte'*$'\nOnce'* ]]

    page "$sum" "$model" > page.md
    run -0 "$ROOT/tests/bench/results" page.md text
    [[ ${lines[1]} = "| 3 | "*"\`$model\` | the same bytes" ]]
    # another seed is not in the table
    run -1 "$ROOT/tests/bench/results" page.md text tiny 4
    [[ ${lines[1]} = "| 4 | "*" | other bytes" ]]
}

@test "a row of instructions that the processor lacks is left out" {
    local sum
    sum=$(sha256sum < text | cut -d ' ' -f 1)
    page "$sum" 0 | sed 's/^    tg-tokenize/    export TG_ISA=none\n&/' > page.md
    run -2 "$ROOT/tests/bench/results" page.md text
    [[ $output = "results: tiny: this processor has no none" ]]
}

@test "a text is needed" {
    run -2 "$ROOT/tests/bench/results" page.md ''
    [[ $output = "results: which text? give its file (make results TEXT=FILE)" ]]
}

@test "a row of another text, and one whose commands fail" {
    local sum
    sum=$(sha256sum < text | cut -d ' ' -f 1)
    page "$sum" 0 > page.md
    echo more >> text
    run -2 "$ROOT/tests/bench/results" page.md text
    [[ $output = "results: $PWD/page.md has no row of the text $PWD/text" ]]
    sum=$(sha256sum < text | cut -d ' ' -f 1)
    page "$sum" 0 | sed 's/--steps 3/--steps 0/' > page.md
    run ! "$ROOT/tests/bench/results" page.md text tiny 3
    [[ ${lines[0]} = tiny && ${lines[1]} = "tg-train: --steps must be"* ]]
    [[ $output != *" bytes" ]]
}

@test "docs/results.md: each row has commands that check the text, and sums" {
    awk '
        /^#/ { if (row && !(check && train && sums)) bad = 1; row = /^### [a-z0-9-]+$/; rows += row; check = train = sums = 0 }
        /^    sha256sum --quiet --check <<< .[0-9a-f]*  text.$/ { check = 1 }
        /^    tg-train / { train = 1 }
        /^\| [0-9]+ \| [0-9]+ \| [0-9.]+ \| `[0-9a-f]*` \|$/ && length($8) == 66 { sums = 1 }
        END { exit bad || rows < 2 }' "$ROOT/docs/results.md"
}

@test "docs/results: the losses of each row, with which tg-info compares a run" {
    slow
    local row rows files=("$ROOT"/docs/results/*.tsv)
    mapfile -t rows < <(sed -n 's/^### //p' "$ROOT/docs/results.md")
    make_text 3000 | tg-tokenize -q | tg-train -q -m mine.npz -n 40
    for row in "${rows[@]}"; do
        run -0 tg-info mine.npz "$ROOT/docs/results/$row.tsv"
        [[ $output = *"B  "*"$row.tsv"* && $output = *$'\nsteps '*"B - A"* ]]
    done
    [[ ${#rows[@]} -ge 2 && ${#rows[@]} = "${#files[@]}" ]]
}
