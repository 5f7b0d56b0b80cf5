# The guides, docs/NAME.md and docs/NAME.zh-CN.md: what they show is what the tools
# print, what they quote is what the code says, what they name is there.
#
# In a fenced block, a line that begins with "$ " is a command, and the lines after it
# are its standard output, where a line "..." stands for any number of lines.  A block
# of nothing but commands runs, and shows nothing.  A block marked c quotes code of the
# file that is named last before it.  A block marked with a language and a name, as
# "awk norm.awk", is a file that the reader is asked to save under that name.
#
# A command is as a reader would type it.  So the lines after one that prints nothing are
# what it says on standard error, and it may then fail: it shows an error.  cmp may find
# that files differ.

load helper

setup_file() {
    make_docs_model
}

# ---- taking a guide apart

# The fenced blocks, or everything else.
blocks() { awk '/^```/ { inside = !inside; print; next } inside' "$1"; }
prose() { awk '/^```/ { inside = !inside; next } !inside' "$1"; }

# steps FILE: steps/NNN.command, and where its block shows output NNN.want.
steps() {
    rm -rf steps && mkdir steps
    awk '
        function flush(    i) {
            for (i = first; i <= n; i++) {
                name = sprintf("steps/%03d", i)
                print command[i] > (name ".command")
                if (shows)
                    printf "%s", want[i] > (name ".want")
                close(name ".command"); close(name ".want")
            }
            first = n + 1; shows = 0
        }
        BEGIN { first = 1 }
        /^```[a-z]+ [a-z]+\.[a-z]+$/ { file = $2; printf "" > file; next }
        file != "" && /^```/ { close(file); file = ""; next }
        file != "" { print > file; next }
        /^```/ { inside = !inside; flush(); started = 0; next }
        !inside { next }
        /^\$ / { command[++n] = substr($0, 3); started = 1; next }
        started { want[n] = want[n] $0 "\n"; shows = 1 }' "$1"
}

# quotes FILE: quotes/NNN.code, a c block without indentation, and NNN.file, whose it is.
quotes() {
    rm -rf quotes && mkdir quotes
    awk '
        /^```c$/ { inside = 1; n++; printf "" > sprintf("quotes/%03d.code", n)
                   print file > sprintf("quotes/%03d.file", n); next }
        /^```/ { inside = inside ? 0 : 2; next }
        inside == 1 { sub(/^ +/, ""); print > sprintf("quotes/%03d.code", n) }
        !inside {
            while (match($0, /`[a-z]+\/[A-Za-z0-9_.\/-]+\.[ch]`/)) {
                file = substr($0, RSTART + 1, RLENGTH - 2)
                $0 = substr($0, RSTART + RLENGTH)
            }
        }' "$1"
}

# places FILE: "path function" for every function that the prose names after its file.
places() {
    prose "$1" | tr '\n' ' ' |
        grep -oE '`(lib|cmd|formats|tests)/[A-Za-z0-9_./-]+\.[a-z]+`((,| |、|和|或|的|and|or)*`[A-Za-z_][A-Za-z0-9_]*`)*' |
        awk -F '`' '{ for (i = 4; i <= NF; i += 2) print $2, $i }' | sort -u
}

# ---- comparing

# matches WANT GOT: the same lines, where a line "..." in WANT stands for any number.
# at[j] says that WANT so far can be the first j lines of GOT.
matches() {
    awk 'FILENAME == ARGV[1] { want[++n] = $0 ""; next }
         { got[++m] = $0 "" }
         END {
             at[0] = 1
             m += 0
             for (i = 1; i <= n; i++) {
                 if (want[i] == "...")
                     for (j = 1; j <= m; j++)
                         at[j] = at[j] || at[j - 1]
                 else
                     for (j = m; j >= 0; j--)
                         at[j] = j > 0 && at[j - 1] && got[j] == want[i]
             }
             exit !at[m]
         }' "$1" "$2"
}

run_step() {
    local status=0
    bash -o pipefail -c "$(cat "$1.command")" < /dev/null > got 2> err || status=$?
    if [[ -e $1.want && ! -s got && -s err ]] && matches "$1.want" err; then
        return 0
    fi
    # a writer may end by SIGPIPE when the last part of its pipeline is head
    if [[ $status != 0 && ! ($status = 141 && $(cat "$1.command") = *'| head'*) &&
        ! ($status = 1 && $(cat "$1.command") = 'cmp -l '*) ]]; then
        echo "\$ $(cat "$1.command")"
        echo "status $status: $(cat err)"
        return 1
    fi
    [[ -e $1.want ]] || return 0
    if ! matches "$1.want" got; then
        echo "\$ $(cat "$1.command")"
        diff "$1.want" got | head -n 40
        return 1
    fi
}

# ---- what must hold of one page

runs() {
    local step
    cp -r "$MODEL_DIR/text" "$MODEL_DIR/model.npz" "$ROOT/docs/data/induction" .
    steps "$1"
    for step in steps/*.command; do
        [[ -e $step ]] || { echo "there are no commands"; return 1; }
        run_step "${step%.command}" || return 1
    done
}

quotes_code() {
    local quote file
    quotes "$1"
    for quote in quotes/*.code; do
        [[ -e $quote ]] || return 0 # there are none
        file=$(cat "${quote%.code}.file")
        { echo ...; cat "$quote"; echo ...; } > want
        sed 's/^ *//' "$ROOT/$file" > code || return 1
        matches want code || { echo "$file does not say:"; cat "$quote"; return 1; }
    done
}

names_places() {
    local path name n=0
    while read -r path name; do
        n=$((n + 1))
        grep -qsw -e "$name" "$ROOT/$path" || { echo "there is no $name in $path"; return 1; }
    done < <(places "$1")
    [[ $n -ge 5 ]] || { echo "only $n places are named"; return 1; }
}

# A trace also names places: "path: function, function" or "path: a piece of its code".
shows_places() {
    local line path rest name
    blocks "$1" | grep -oE '(lib|cmd)/[a-z0-9_/]+\.[ch]: [^:]*' | sort -u > shown || return 0
    while IFS= read -r line; do
        path=${line%%: *} rest=${line#*: }
        rest=${rest%)}
        grep -qsF -e "$rest" "$ROOT/$path" && continue
        for name in ${rest//,/}; do
            grep -qsw -e "$name" "$ROOT/$path" || { echo "there is no $name in $path"; return 1; }
        done
    done < shown
}

links() {
    local link
    while IFS= read -r link; do
        [[ $link != http* ]] || continue
        link=${link%%#*}
        [[ $link != *pages/*.html && ($1 != */pages/* || $link != *.html) ]] || continue # the next test looks at these
        [[ -z $link || -e $(dirname "$1")/$link ]] || { echo "$1 links $link"; return 1; }
    done < <(prose "$1" | grep -oE '\]\([^)]*\)' | sed 's/^](//; s/)$//')
}

check_page() {
    runs "$1" && quotes_code "$1" && names_places "$1" && shows_places "$1" && links "$1" ||
        { echo "in $1"; return 1; }
}

# The foot of a page in language SUFFIX leads to the guide before it, to the map, and to the guide after it.
leads_on() {
    local name=$1 suffix=$2 i foot want=
    for ((i = 0; i < ${#GUIDES[@]}; i++)); do
        [[ ${GUIDES[i]} != "$name" ]] || break
    done
    ((i == 0)) || want+="${GUIDES[i - 1]}$suffix.md "
    want+="README$suffix.md"
    ((i + 1 == ${#GUIDES[@]})) || want+=" ${GUIDES[i + 1]}$suffix.md"
    foot=$(tail -n 1 "$ROOT/docs/$name$suffix.md" | grep -oE '\]\([^)]*\)' | sed 's/^](//; s/)$//' | paste -sd ' ')
    [[ $foot = "$want" ]] || { echo "docs/$name$suffix.md ends with links to $foot, expected $want"; return 1; }
}

# check_guide NAME: both languages, and that they are one guide.
check_guide() {
    local en=$ROOT/docs/$1.md zh=$ROOT/docs/$1.zh-CN.md
    [[ -r $en && -r $zh ]] || { echo "docs/$1.md or docs/$1.zh-CN.md is missing"; return 1; }
    check_page "$en"
    rm -rf -- *
    check_page "$zh"
    diff <(blocks "$en") <(blocks "$zh")
    diff <(places "$en") <(places "$zh")
    head -n 1 "$en" | grep -qF "]($1.zh-CN.md)"
    head -n 1 "$zh" | grep -qF "]($1.md)"
    leads_on "$1" "" && leads_on "$1" .zh-CN
    if [[ $1 != fine-tuning ]]; then has_pictures "$1"; fi # what a processor has trained
}

# The same pictures in both, and each is shown.
has_pictures() {
    local en=$ROOT/docs/$1.md zh=$ROOT/docs/$1.zh-CN.md
    diff <(grep -o '](images/[^)]*' "$en") <(grep -o '](images/[^)]*' "$zh")
    grep -q '](images/' "$en" && grep -q '^\$ tg-attn-view' "$en"
}

# ---- the guides

@test "walkthrough: one head and several, step by step" { slow; check_guide walkthrough; }
@test "indexing: from the equation to the offset" { slow; check_guide indexing; }
@test "multi-head: what changes, and what does not" { slow; check_guide multi-head; }
@test "shapes: from x to the output" { slow; check_guide shapes; }
@test "autograd: backward by hand" { slow; check_guide autograd; }
@test "from text to tokens: a vocabulary, step by step" { slow; check_guide from-text-to-tokens; }
@test "checkpoints: from a download to its induction heads" { slow; check_guide checkpoints; }

@test "from GPT-2 to Llama: norm, rotation, shared keys, SwiGLU" { slow; check_guide from-gpt2-to-llama; }
@test "what a head writes: the lens, and a logit as a sum" { slow; check_guide what-a-head-writes; }

@test "which head matters: patching, a circuit, and what the weights say" { slow; check_guide which-head-matters; }
@test "fine-tuning: from a page of examples to a tuned model" { slow; check_guide fine-tuning; }

# section FILE TITLE: the lines of a section that begins with "## TITLE".
section() { sed -n "/^## $2/,/^## /p" "$1"; }

# finds_pair: the files that "A model of your own" has made name one head of each layer, all the same two.
finds_pair() {
    local early late
    read -r early late < <(head -n 2 sorted | cut -d ' ' -f 2 | sort | paste -sd ' ')
    [[ $early = 0.* && $late = 1.* ]] || { echo "the first heads are $early and $late"; return 1; }
    awk '(NR == 2 && $1 < 0.6) || (NR == 3 && $1 > 0.35) { bad = 1 } END { exit bad || NR != 8 }' sorted ||
        { echo "there is no gap after two heads: $(paste -sd ' ' sorted)"; return 1; }
    awk -F '\t' -v early="without:$early" -v late="without:$late" '
        { left[$1] = $3 }
        END { exit !(early in left && late in left && left["circuit"] > 0.7 && left[early] < 0.4 && left[late] < 0.4) }' \
        kept.tsv || { echo "the circuit: $(cut -f 1,3 kept.tsv | paste -sd ' ')"; return 1; }
    [[ $(head -n 1 previous) = *" $early" ]] || { echo "previous: $(paste -sd ' ' previous)"; return 1; }
    [[ $(head -n 1 strength) = *" k $early,$late" ]] || { echo "strongest: $(head -n 1 strength)"; return 1; }
    printf '%s to %s\n' embed "$early.v" "$early" "$late.k" "$late" 1.mlp 1.mlp logits | sort > want
    head -n 4 edges | cut -d ' ' -f 2- | sort | diff want -
}

# Half a minute of one thread.  What is trained depends on the processor, so the page's numbers are not compared.
@test "which head matters: a model of your own, trained and searched as the page says" {
    slow
    local recipes=$ROOT/docs/recipes.md en=$ROOT/docs/which-head-matters.md zh=$ROOT/docs/which-head-matters.zh-CN.md
    export OMP_NUM_THREADS=1
    steps "$recipes"
    section "$recipes" 'An induction head' | sed -n '/^    awk /,/^    tg-train /s/^    //p' > recipe
    steps "$en"
    section "$en" 'A model of your own' | sed -n 's/^ *\$ //p' > search
    [[ $(wc -l < recipe) = 3 && $(wc -l < search) -ge 15 ]]
    # the other language has the same commands, and shows the same
    diff <(section "$en" 'A model of your own' | grep '^    ') <(section "$zh" '自己训练一个模型' | grep '^    ')
    bash -eo pipefail recipe
    bash -eo pipefail search
    finds_pair
    # which is not so without the training
    grep '^tg-init' recipe | sed 's/-o/--force -o/' | bash -e
    bash -eo pipefail search
    run -1 finds_pair
}

@test "there is a test here for each guide, and the maps have them in order" {
    slow_unless_sanitized
    local suffix page
    for guide in "${GUIDES[@]}"; do
        grep -q "check_guide $guide; }" "$BATS_TEST_FILENAME"
    done
    for suffix in "" .zh-CN; do
        grep -o '^| [0-9].*' "$ROOT/docs/README$suffix.md" | grep -oE '\]\([^)]*\)' | sed 's/^](//; s/)$//' > listed
        printf "%s$suffix.md\n" "${GUIDES[@]}" | diff - listed
        links "$ROOT/docs/README$suffix.md"
    done
    links "$ROOT/README.md"
    for page in "$ROOT"/docs/*.zh-CN.md; do
        [[ " README topics ${GUIDES[*]} " = *" $(basename "$page" .zh-CN.md) "* ]]
    done
    # as many letters and words in each
    diff <(grep -c '^|' "$ROOT/docs/README.md") <(grep -c '^|' "$ROOT/docs/README.zh-CN.md")
}

# The rows of docs/topics.md: file, section, command and what it prints, a tab after each of the first three.
topics() {
    sed -n 's/^| [^|]* | \[[a-z0-9-]*\](\([^)]*\)): \([^|]*\) | \([^|]*\) | \([^|]*\) |$/\1\t\2\t\3\t\4/p' "$1"
}

@test "topics: each section exists, and each command prints what its row says, in both languages" {
    slow
    local file section command shown n=0
    cp -r "$MODEL_DIR/text" "$MODEL_DIR/model.npz" "$ROOT/docs/data/induction" .
    mkdir build && ln -s "$BUILD" build/release
    links "$ROOT/docs/topics.md" && links "$ROOT/docs/topics.zh-CN.md"
    while IFS=$'\t' read -r file section command shown; do
        n=$((n + 1))
        grep -qxF "## $section" "$ROOT/docs/$file" || { echo "$file has no section $section"; false; }
        [[ $command != — ]] || continue
        command=${command#?} command=${command%?} shown=${shown#?} shown=${shown%?}
        [[ ${#shown} -ge 3 ]]
        bash -ec "${command//\`, \`/; }" < /dev/null > got 2> err || { echo "$command: $(cat err)"; false; }
        tr '\t' ' ' < got | grep -qF -e "$shown" || { echo "$command does not print: $shown"; false; }
    done < <(topics "$ROOT/docs/topics.md")
    [[ $n -ge 50 && $n = $(grep -c '^| .*](' "$ROOT/docs/topics.md") ]]
    # the other language has the same rows
    while IFS=$'\t' read -r file section command shown; do
        grep -qxF "## $section" "$ROOT/docs/$file" || { echo "$file has no section $section"; false; }
    done < <(topics "$ROOT/docs/topics.zh-CN.md")
    diff <(topics "$ROOT/docs/topics.md" | cut -f 1,3,4) \
        <(topics "$ROOT/docs/topics.zh-CN.md" | sed 's/\.zh-CN\.md/.md/' | cut -f 1,3,4)
}

# exercises FILE: the commands of the table of exercises, whose spans of code begin with a command, or with options that
# a command above gets: those of a path, and of an ablation, are in place of its own.
exercises() {
    sed -n '/^    clean=/,/^`--path/ { /^|.*`/p }' "$1" | awk -F '`' '
        function out(command) { print last = command }
        { for (i = 2; i < NF; i += 2)
              if ($i ~ /^tg-/) { out($i); base = $i; sub(/ --(path|ablate) .*/, "", base) }
              else if ($i ~ /^--steps/) out(last " " $i)
              else if ($i ~ /^--/) out(base " " $i)
              else { sub(/[a-z]+$/, "", last); out(last $i) } }'
}

# GPT-2 small has 12 layers of 12 heads and tokens for the names, as this one, which is otherwise small.
@test "the exercises of a course: each command runs, its columns exist, and both languages have the same" {
    slow
    local en=$ROOT/docs/recipes.md zh=$ROOT/docs/topics.zh-CN.md command name n=0
    { sed -n 's/^    \(clean\|corrupt\)=/\1=/p' "$en"; echo set -o pipefail; } > names
    diff names <(sed -n 's/^    \(clean\|corrupt\)=/\1=/p' "$zh"; echo set -o pipefail)
    diff <(exercises "$en") <(exercises "$zh")
    diff <(section "$en" 'Exercises' | grep -c '^|') <(section "$zh" '一门可解释性课程的练习' | grep -c '^|')
    # shellcheck disable=SC1091,SC2154
    (. ./names && for n in {1..20}; do echo "$clean Mary. $corrupt John. Once"; done > text &&
        printf '%s\t%s\t%s\t%s\n' "$clean" "$corrupt" ' Mary' ' John' "$corrupt" "$clean" ' John' ' Mary' > prompts.tsv)
    tg-bpe -n 297 -o bpe.npz text 2> /dev/null
    tg-init -q -t bpe.npz --n-layer 12 --n-head 12 --n-embd 48 --n-ctx 64 -o init.npz
    tg-convert -q init.npz --to hf -o gpt2
    exercises "$en" > commands
    while IFS= read -r command; do
        n=$((n + 1))
        bash -ec "$(cat names); ${command//; tg-sample/; tg-sample -n 2}" < /dev/null > got 2> err ||
            { echo "$command: $(cat err)"; false; }
        [[ -s got || $command = *clean.html* ]] || { echo "$command prints nothing"; false; }
    done < commands
    [[ $n = 29 && -s clean.html ]]
    grep -qx 'tg-patch -m gpt2 -p "$clean" .* --site pattern' commands
    grep -qx 'tg-patch -m gpt2 -p "$clean" .* --wrong . John. --path : --attribution --steps 5' commands
    # the columns that it names
    section "$en" 'Exercises' | sed -n 's/^.*`\(tg-[^`]*\)`, columns* \([a-z, ]*\) |$/\1\t\2/p' > columns
    section "$zh" '一门可解释性课程的练习' | sed -n 's/^.*`\(tg-[^`]*\)`，\([a-z、]*\) 列 |$/\1\t\2/p' | sed 's/、/, /g' |
        diff columns -
    [[ $(wc -l < columns) = 4 ]]
    while IFS=$'\t' read -r command name; do
        bash -ec "$command" < /dev/null 2> /dev/null | grep '^# *layer.* head ' > titles
        for name in ${name//,/}; do
            grep -qw -e "$name" titles || { echo "$command has no column $name: $(cat titles)"; false; }
        done
    done < columns
}

# The lines that carry the worked examples' offsets and values, and the shapes.
@test "README.md: what it shows is what its commands print" {
    local step n=0
    steps "$ROOT/README.md"
    for step in steps/*.want; do # docs.bats runs the others
        run_step "${step%.want}"
        n=$((n + 1))
    done
    [[ $n -ge 1 ]]
}

@test "the guides' commands print all worked examples" {
    slow_unless_sanitized
    for guide in "${GUIDES[@]}"; do
        steps "$ROOT/docs/$guide.md"
        cat steps/*.want >> printed
    done
    while IFS= read -r line; do
        grep -qF -e "$line" printed || { echo "no guide shows: $line"; false; }
    done << 'LINES'
q_base = (b*T + i)*C = (0*3 + 2)*4 = 8
k_base = (b*T + j)*C = (0*3 + 1)*4 = 4
scores offset = (b*T + i)*T + j = (0*3 + 2)*3 + 1 = 7
q_base = ((b*T + i)*H + h)*D = ((0*3 + 2)*2 + 1)*2 = 10
k_base = ((b*T + j)*H + h)*D = ((0*3 + 1)*2 + 1)*2 = 6
              = ((0*2 + 1)*3 + 2)*3 + 1 = 16
q_base = (b*T + i)*C = (0*3 + 1)*2 = 2
k_base = (b*T + j)*C = (0*3 + 0)*2 = 0
scores offset = (b*T + i)*T + j = (0*3 + 1)*3 + 0 = 3
  0  q.data[2] = 2.00000000  k.data[0] = 0.00000000  0.00000000  0.00000000
  1  q.data[3] = 3.00000000  k.data[1] = 0.12500000  0.37500000  0.37500000
k_base = (b*T + j)*C = (0*3 + 2)*2 = 4
scores offset = (b*T + i)*T + j = (0*3 + 1)*3 + 2 = 5
scores[0,1,2] = scores.data[5] = -1e9
scale = 1/sqrt(C) = 1/sqrt(4) = 0.50000000
scale = 1/sqrt(D) = 1/sqrt(2) = 0.70710678
 0 0 0 2 0      8      0      6   0.50000000    0 0.38365173
 0 0 0 2 1      8      4      7   0.00000000    0 0.23269654
 0 0 0 2 2      8      8      8   0.50000000    0 0.38365173
# att.data[8..11] = 0.38365173 0.46539308 1.15095519 0.00000000
 0 1 0 2 0     10      2     15   0.70710678    0 0.57597535
 0 1 0 2 1     10      6     16  -0.70710678    0 0.14002925
 0 1 0 2 2     10     10     17   0.00000000    0 0.28399541
# att.data[10..11] = 7.17973050 2.82026950
 0.20000000    0 1.00000000
 0.50000000    0 0.57444252
 0.20000000    0 0.42555748
 0.30000000    0 0.33222499
 0.40000000    0 0.36716540
 0.20000000    0 0.30060961
 0.10000000    0 0.21383822
 0.30000000    0 0.26118259
 0.40000000    0 0.28865141
 0.20000000    0 0.23632778
  0  6.28318531   1.00000000  0.00000000
  1  3.14159265  -1.00000000  0.00000000
  1  [9] =  2.00000000  [11] = -1.00000000  [9] = -2.00000000
scores[0,2,1] = scores.data[7] = 0.00000000
k_base = ((b*T + j)*KV + h/(H/KV))*D = ((0*3 + 1)*2 + 3/2)*2 = 6
 0 3 0 2 1     22      6     34   0.70710678    0 0.57597535
its head: att.data[22..23] = 2.82026950 7.17973050
[2,4,512]
[2,4,8,64]
[2,8,4,64]
[2,8,4,4]
1536
0.04419417
0.12500000
LINES
}

# ---- the checks themselves

@test "a guide that shows, quotes or names something wrong is noticed" {
    slow
    page() { printf '%s\n' "$@" > page.md; }
    # shellcheck disable=SC2016
    local code='`lib/nn/ref/softmax.c`, `softmax_row`:'

    page '```' '$ seq 9' 1 ... 4 5 ... '```' '```' '$ echo quiet' '```'
    run -0 runs page.md
    [[ -e steps/001.want && ! -e steps/002.want ]]
    page '```' '$ true' '$ seq 2' 1 2 '```' && run -0 runs page.md
    page '```' '$ seq 2' 1 3 '```' && run -1 runs page.md
    page '```' '$ seq 2' 1 '```' && run -1 runs page.md
    page '```' '$ seq 2' 1 2 3 '```' && run -1 runs page.md
    page '```' '$ seq 9' 1 ... 8 '```' && run -1 runs page.md
    page '```' '$ seq 9' ... 5 4 ... '```' && run -1 runs page.md
    page '```' '$ echo 1.0' 1.00 '```' && run -1 runs page.md
    page '```' '$ echo one' '$ seq 2' 1 2 '```' && run -1 runs page.md
    page '```' '$ false' '```' && run -1 runs page.md
    page '```' '$ echo wrong >&2; false' wrong '```' && run -0 runs page.md
    page '```' '$ echo wrong >&2; echo out; false' out '```' && run -1 runs page.md
    page '```awk sum.awk' '{ sum += $1 }' 'END { print sum }' '```' '```' '$ seq 3 | awk -f sum.awk' 6 '```'
    run -0 runs page.md
    [[ ! -e steps/002.command ]]
    page '$ true' && run -1 runs page.md

    page "$code" '```c' '    sum += probs[j];' '```' && run -0 quotes_code page.md
    page "$code" '```c' 'sum += probs[j];' ... 'probs[j] /= sum;' '```' && run -0 quotes_code page.md
    page "$code" '```c' 'sum += probs[j];' 'probs[j] /= sum;' '```' && run -1 quotes_code page.md
    page "$code" '```c' 'sum -= probs[j];' '```' && run -1 quotes_code page.md

    # shellcheck disable=SC2016
    page '`lib/nn/ref/softmax.c` `softmax_row`, `softmax_forward` and `softmax_backward`;' \
        'also `lib/nn/ref/slice.c` `slice_forward`' '`slice_backward`.'
    run -0 names_places page.md
    [[ $(places page.md | wc -l) = 5 ]]
    sed -i 's/slice_forward/slice_sideways/' page.md
    run -1 names_places page.md
    page '```' '$ true' '#    lib/nn/ref/softmax.c: softmax_row, softmax_column' '```' && run -1 shows_places page.md
    page '[text](nowhere.md)' && run -1 links page.md
}

# permalinks PAGE: the pages and addresses that a document leads to.
permalinks() { grep -oE '\]\((pages/)?[a-z]+\.html#[^)]*\)' "$1" | sed 's/^](//; s/)$//; s/^pages.//'; }

@test "links into pages: each page is made, and shows what its address says" {
    slow
    load page
    need_chromium
    mkdir pages
    "$ROOT/docs/make-files" "$ROOT/docs/pages" pages
    # the same text for a browser, with the same links
    for name in README.md README.zh-CN.md; do
        index=pages/index${name#README}
        index=${index%.md}.html
        diff <(permalinks "$ROOT/docs/pages/$name" | sort) \
            <(grep -o 'href="[a-z]*\.html#[^"]*' $index | sed 's/href="//; s/&amp;/\&/g' | sort)
        [[ $(grep -c '^<li>' $index) = 10 ]]
        rm $index
    done
    [[ $(cd pages && printf '%s ' *) = "$(sed -n 's/^\$ .* -o \([a-z]*\.html\) -\( .*\)*$/\1/p' "$ROOT/docs/pages/README.md" | sort | paste -sd ' ') " ]]
    for page in "$ROOT"/docs/*.md "$ROOT"/docs/pages/*.md; do permalinks "$page"; done > links
    [[ $(wc -l < links) -ge 60 ]]
    # both languages have the same
    for page in "$ROOT"/docs/*.zh-CN.md "$ROOT"/docs/pages/README.zh-CN.md; do
        diff <(permalinks "${page%.zh-CN.md}.md") <(permalinks "$page" | sed 's/&lang=zh//')
    done
    pages pages/*.html << 'END'
name = os.path.basename(file)
for line in sorted(set(open("links").read().split())):
    page_name, _, address = line.partition("#")
    if page_name != name:
        continue
    page.run(f"location.hash = {address!r}"); page.settle()
    page.run("keepAddress()")
    wanted = dict(part.split("=") for part in address.split("&"))
    got = dict(part.split("=") for part in page.run("location.hash.slice(1)").split("&"))
    got["step"], got["panel"] = str(page.run("view.card + 1")), page.run("view.panel") # which are not always written
    if wanted.get("panel") == "quiz":
        wanted = {"panel": "quiz"} # it asks about a cell of its own choice
    assert {key: got.get(key) for key in wanted} == wanted, (line, got)
# what the ten minutes say is seen there
seen = {"baseline.html": {"#query=2&key=0&step=2": ["of-trace", "1"], "#query=2&key=0&step=3": ["card-list", "= 0.5"],
        "#query=2&key=0&step=5&panel=row": ["keys", "0.23269653"], "#query=2&key=2&step=6&channel=2": ["sum-result", "1.1509552"]},
        "induction.html": {"#layer=1&head=0&query=40&key=17&panel=next": ["predicted", "0.983958"],
        "#layer=0&head=0&query=40&key=39": ["facts", "1"]},
        # and what the guides to heads say, in the grids
        "writes.html": {"#layer=1&head=0&query=10&key=3&panel=lens": ["lens-text", "after 2 layers, position 10 “c”"],
        "#layer=1&head=0&query=10&key=3&panel=logit": ["part-text", "head 1.0: 8.14"],
        "#layer=1&head=0&query=10&key=3&show=written": ["here", "probability 0.99778926, wrote 8.1385 at query 10"]},
        "carried.html": {"#layer=1&head=0&query=3&key=2&panel=patch": ["patched-text", "layer 1; position 3 “d”: effect 0.99"]},
        "matters.html": {"#layer=1&head=0&query=10&key=3&panel=patch": ["patched-text", "head 1.0; all positions: effect 0.98"]}}
for address, (where, text) in seen.get(name, {}).items():
    page.run(f"location.hash = {address!r}"); page.settle()
    assert text in page.run(f"byId({where!r}).innerText"), (address, page.run(f"byId({where!r}).innerText"))
page.run("localStorage.clear()")
END
}

# The same page, whatever the fonts: the picture's blocks of 16 x 16 pixels have the colours that the page has now.
@test "the pictures of pages in README and the guides are what the pages look like" {
    slow
    load page
    need_chromium
    mkdir pages
    "$ROOT/docs/make-files" "$ROOT/docs/pages" pages
    cat > page.py << 'END'
from browser import read_png
# the picture, the size of the window, what of it is drawn, the view, and another view
name, size, clip, address, other = {
    "induction.html": ("page.png", (1280, 800), (0, 0, 1280, 800), "#layer=1&head=0&query=40&key=17&panel=row&step=6", "goTo(0, 1)"),
    "writes.html": ("writes.png", (1280, 640), (240, 72, 1040, 464), "#layer=1&head=0&query=10&key=3&panel=logit", "setPanel('lens')"),
}[os.path.basename(file)]
BLOCK = 16
def blocks(rows):
    mean = lambda x, y, c: sum(rows[y + a][x + b][c] for a in range(BLOCK) for b in range(BLOCK)) / BLOCK ** 2
    return [mean(x, y, c) for y in range(0, len(rows), BLOCK) for x in range(0, len(rows[0]), BLOCK) for c in range(3)]
want = read_png(open(os.path.join(sys.argv[3], name), "rb").read())
assert (len(want[0]), len(want)) == clip[2:]
page.size(*size)
page.run(f"location.hash = {address!r}"); page.settle()
page.run("thumbs.forEach((t) => (t.work(Infinity), t.draw()))"); page.settle()
off = [abs(a - b) for a, b in zip(blocks(want), blocks(page.pixels(*clip)))]
assert sum(off) / len(off) < 2 and sorted(off)[-len(off) // 100] < 40, (sum(off) / len(off), max(off))
# and another view is not that picture
page.run(other); page.settle()
off = [abs(a - b) for a, b in zip(blocks(want), blocks(page.pixels(*clip)))]
assert sum(off) / len(off) > 2, sum(off) / len(off)
END
    in_browser 2 pages/induction.html pages/writes.html "$ROOT/docs/pages"
}
