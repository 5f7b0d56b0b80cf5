# Every line that begins with "$ " in README, docs/ and the man pages is run, in order,
# a file's lines together in one directory that holds a file named text.

load helper

setup_file() {
    [[ -n ${TG_QUICK:-} ]] || make_docs_model # for the pages that take a model as given
}

# The commands of a Markdown file or man page, one a line.
commands() {
    case $1 in
        *.md) sed -n 's/^\$ //p' "$1" ;;
        *) mandoc -T ascii -O width=500 "$1" | col -bx | sed -n 's/^ *\$ //p' ;;
    esac
}

# Run all of FILE's commands; each must succeed, but a writer may end by SIGPIPE when
# the last part of its pipeline is head.
run_examples() {
    local line n=0
    cp "$MODEL_DIR/text" .
    ln -sfn "$ROOT/docs" docs # README's commands are for the project's directory
    while IFS= read -r line; do
        n=$((n + 1))
        run bash -o pipefail -c "$line" < /dev/null
        if [[ $status != 0 && ! ($status = 141 && $line = *'| head'*) ]]; then
            echo "\$ $line"
            echo "$output"
            echo "status $status"
            return 1
        fi
    done < <(commands "$1")
    echo "$n examples"
    [[ $n -ge ${2:-1} ]]
}

@test "commands are found in Markdown and in man pages" {
    need mandoc
    # shellcheck disable=SC2016
    printf '%s\n' 'Words, $ 5.' '```' '$ echo one | cat' 'one' '$ echo two' '```' '    $ echo no' > page.md
    run -0 commands page.md
    is_output $'echo one | cat\necho two'
    printf '%s\n' '.Dd May 1, 2026' '.Dt PAGE 1' '.Os' '.Sh NAME' '.Nm page' '.Nd none' '.Sh EXAMPLES' \
        '.Bd -literal -offset indent' '$ echo one | cat' '$ echo two' '.Ed' > page.1
    run -0 commands page.1
    is_output $'echo one | cat\necho two'
}

# Six seconds: a model is trained for 1,000 steps, as a reader would.
@test "README.md" { slow; run_examples "$ROOT/README.md" 15; }

@test "README.md: the line for a real checkpoint, with a small one in GPT-2's place" {
    line=$(sed -n 's/^    \(tg-attn-dump -m \.\/gpt2 .*\)$/\1/p' "$ROOT/README.md")
    [[ -n $line ]]
    cp -r "$ROOT/docs/data/induction" gpt2
    run_pipe 0 "$line"
    [[ $output = "# 19 tokens through 2 layers of 4 heads"* ]]
}

# Five seconds: 1,400 steps.
@test "the demo ends with a picture and a page, and says where" {
    slow
    cp "$MODEL_DIR/text" .
    run -0 --separate-stderr "$ROOT/docs/demo" text
    [[ $output = *"build/demo/attention.png"*"build/demo/attention.html"* ]]
    [[ $(head -c 4 build/demo/attention.png | tail -c 3) = PNG ]]
    grep -qi "^<!doctype html>" build/demo/attention.html
}

@test "docs and formats" {
    slow
    for page in "$ROOT"/docs/*.md "$ROOT/formats/README.md"; do
        # guides.bats runs the guides, and compares what they show
        name=$(basename "$page" .md)
        [[ " ${GUIDES[*]} " != *" ${name%.zh-CN} "* ]] || continue
        cp "$MODEL_DIR/model.npz" .
        run_examples "$page" "$(grep -c '^ *\$ ' "$page")"
    done
}

# All examples of eleven pages; tg-eval's read all of the text, a fifth of it here.
@test "man pages" {
    slow
    need mandoc
    local MODEL_DIR=$MODEL_DIR
    mkdir short
    cp "$MODEL_DIR/model.npz" short
    head -c 10000 "$MODEL_DIR/text" > short/text
    MODEL_DIR=$PWD/short
    for page in "$ROOT"/docs/man/*.[17]; do
        cp "$MODEL_DIR/model.npz" .
        run_examples "$page" 2
    done
}

@test "each tool has a man page that names all its options" {
    slow_unless_sanitized
    need mandoc
    for tool in "$ROOT"/cmd/tg-*/; do
        name=$(basename "$tool")
        mandoc -T ascii "$ROOT/docs/man/$name.1" | col -bx > page
        "$name" --help | sed -n 's/^ *\(-[A-Za-z], \)\{0,1\}\(--[a-z0-9-]*\).*/\2/p' > options
        [[ $(wc -l < options) -ge 4 ]]
        while read -r option; do
            grep -qE -e "(^|[^-[:alnum:]])$option([^-[:alnum:]]|\$)" page || { echo "$name.1 does not name $option"; false; }
        done < options
    done
}

@test "man pages are well-formed" {
    need mandoc
    mandoc -T lint -W warning "$ROOT"/docs/man/*.[17]
}

# The words of a page, in order, without its first and last line, which each renderer writes in its own
# way; one of them joins NAME's parts with a longer dash.
words() { col -bx | sed '1d; $d' | tr -s ' \n' '\n\n' | sed 's/^—$/–/'; }

@test "man pages say the same under groff and mandoc, and neither warns" {
    slow
    need mandoc
    need groff
    need man
    local page
    export LC_ALL=C.UTF-8 MANWIDTH=80
    for page in "$ROOT"/docs/man/*.[17]; do
        man --warnings -E UTF-8 --no-hyphenation --no-justification -l "$page" 2> warnings | words > by-groff
        groff -man -mdoc -ww -Tascii "$page" 2>> warnings > ascii
        mandoc -T utf8 "$page" | words > by-mandoc
        [[ ! -s warnings ]] || { echo "$page: $(cat warnings)"; false; }
        [[ $(wc -l < by-groff) -gt 300 ]]
        diff by-groff by-mandoc || { echo "in $page"; false; }
        ! col -bx < ascii | grep -v '^ *\$ ' | grep '^.\{81\}' || { echo "in $page: a line that is too long"; false; }
    done
    # the brackets of the table of stages
    groff -man -mdoc -Tutf8 "$ROOT/docs/man/tg-attn-dump.1" | col -bx > page
    grep -q '^ *x  *\[B,T,C\]  *the input' page
    grep -q '^ *scores  *\[B,H,T,T\]  *scaled' page
}

@test "man pages, README and the first of CHANGELOG's versions are the tools'" {
    version=$(tg-info --version | awk 'NR == 1 { print $2 }')
    for page in "$ROOT"/docs/man/*.[17]; do
        grep -qx ".Os tg $version" "$page"
    done
    grep -q "^This is version ${version//./\\.}\." "$ROOT/README.md"
    [[ $(grep -m 1 '^## ' "$ROOT/docs/CHANGELOG.md") =~ ^"## $version, 2"[0-9-]{9}" (tag \`v$version\`)"$ ]]
}

@test "each tool is in the overview, and each guide in its order" {
    need mandoc
    mandoc -T ascii "$ROOT/docs/man/tg.7" | col -bx > page
    for tool in "$ROOT"/cmd/tg-*/; do
        [[ $(grep -c "$(basename "$tool")(1)" page) -ge 2 ]] # in the list and at the end
    done
    grep -o 'docs/[a-z0-9-]*\.md' page | grep -v -e README -e topics > listed
    printf 'docs/%s.md\n' "${GUIDES[@]}" | diff - listed
}

@test "files that the docs name exist" {
    slow_unless_sanitized
    cd "$ROOT"
    for page in README.md docs/*.md formats/README.md; do
        for path in $(grep -o '`\(lib\|cmd\|formats\|tests\|docs\)/[a-zA-Z0-9_./-]*\.[a-z]*`' "$page" | tr -d '`'); do
            [[ $path = *NAME* || -e $path ]] || { echo "$page names $path"; false; } # NAME: to be written
        done
    done
}

@test "the table on paper of distributed.md is that of its program" {
    slow_unless_sanitized
    need python3
    run -0 python3 "$ROOT/tests/bench/paper.py"
    [[ ${#lines[@]} -gt 3 ]]
    for line in "${lines[@]}"; do
        grep -qxF -- "$line" "$ROOT/docs/distributed.md" || { echo "lacks: $line"; return 1; }
    done
}
