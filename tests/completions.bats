# The completions for shells, which the tools make of their tables of options.
load helper

setup() {
    tg_setup
    COMP=$BUILD/completions
    TOOLS=$(cd "$BUILD/bin" && echo tg-*)
}

# options_of TOOL: those that --help names, long and short, one a line, sorted.
options_of() {
    "$1" --help | sed -nE '/^Options:/,/^Examples:/ {
        s/^  (-.), (--[a-z0-9-]+).*/\1\n\2/p; t
        s/^      (--[a-z0-9-]+).*/\1/p }' | sort
}

# complete_bash TOOL WORD...: what bash offers for the last word, one a line, sorted; a line "compopt OPTION..."
# stands for what it is left to complete.
complete_bash() {
    bash -c '
        compopt() { echo "compopt $*"; }
        source "$1/bash/$2"
        shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        read -r _ _ function _ < <(complete -p "$1")
        "$function" "$1" "${@: -1}" "${@: -2:1}"
        ((${#COMPREPLY[@]} == 0)) || printf "%s\n" "${COMPREPLY[@]}"' complete "$COMP" "$@" | sort
}

# offers TEXT WORD...: bash offers these lines for the last word.
offers() {
    run -0 complete_bash "${@:2}"
    is_output "$1"
}

@test "bash: every option that --help names" {
    slow_unless_sanitized
    local tool
    for tool in $TOOLS; do
        options_of "$tool" > want
        [[ $(wc -l < want) -gt 5 ]]
        run -0 complete_bash "$tool" -
        is_output "$(cat want)"
        run -0 complete_bash "$tool" --
        is_output "$(grep '^--' want)"
    done
}

@test "bash: the values of every option that has a list of them" {
    slow_unless_sanitized
    local tool list option count=0
    for tool in $TOOLS; do
        while read -r option list; do
            offers "$(tr '|' '\n' <<< "$list" | sort)" "$tool" "$option" ""
            count=$((count + 1))
        done < <("$tool" --help | sed -nE 's/^ .*(--[a-z-]+) ([a-z0-9_.-]+(\|[a-z0-9_.-]+)+)( .*|$)/\1 \2/p')
    done
    [[ $count -gt 20 ]]
    offers "gemma3-270m
gpt2
gpt2-large
gpt2-medium
gpt2-xl" tg-init -P g
    offers "yes" tg-init --tied y
    offers "bhtd
bthd" tg-attn-dump --layout = b # as bash splits --layout=b
    offers "bhtd
bthd" tg-attn-dump --layout =
    offers all tg-attn-dump --ablate ""
}

@test "bash: files where files are meant, and nothing where a number is" {
    local files="compopt -o bashdefault -o default"
    offers "$files" tg-train -m ""
    offers "$files" tg-train --log l
    offers "$files" tg-train --log = l
    offers "$files" tg-train ""
    offers "$files" tg-train t.npz ""
    offers "$files" tg-train -- --
    offers "" tg-train --steps ""
    offers "" tg-init ""
    offers "" tg-sample -p ""
    touch bytes.txt chars "a b"
    offers "bytes
bytes.txt
compopt -o filenames" tg-tokenize -t by
    offers "a b
bytes
bytes.txt
chars
compopt -o filenames
ids" tg-init --tokenizer ""
}

# Whether a shell on the terminal that the file terminal names edits a line.
edits() {
    [[ -e terminal ]] && stty -F "$(cat terminal)" -a | grep -q -- ' -icanon'
}

# at_prompt SHELL: type the standard input's lines, \t being the key, each when the shell waits for it.
at_prompt() {
    local line
    rm -f terminal
    while IFS= read -r line; do
        eventually edits
        printf '%b; touch finished\n' "$line"
        eventually test -e finished
        rm -f finished
    done | SHELL=$(command -v bash) TERM=xterm script -qec "tty > terminal; $1" /dev/null > shown
    cat shown
}

@test "bash: at a prompt, with a key" {
    need script
    tg-init -P tinygpt -o want.npz
    touch "a file" && mkdir "a folder"
    at_prompt "bash --norc --noprofile -i" << END
PATH='$PATH'; source '$COMP/bash/tg-init'
tg-init --pres\\tti\\t --outp\\tgot.npz
tg-init --preset=ti\\t -o a\\\\ fi\\t
END
    cmp got.npz want.npz
    cmp "a file" want.npz
}

@test "zsh: at a prompt, with a key" {
    slow_unless_sanitized
    need script
    need zsh
    tg-init -P tinygpt -o want.npz
    tg-init -P tinygpt --tied no -o want2.npz
    tg-init -t ids --vocab-size 9 -o want3.npz
    at_prompt "zsh -f -i" << END
PATH='$PATH'; fpath=('$COMP/zsh' \$fpath); autoload -U compinit; compinit -u -D
tg-init --pres\\tti\\t --outp\\tgot.npz
tg-init -P ti\\t --tied=n\\t -o got2.npz
tg-init -t id\\t --vocab\\t9 -o got3.npz
END
    cmp got.npz want.npz
    cmp got2.npz want2.npz
    cmp got3.npz want3.npz
}

@test "zsh reads every tool's completions" {
    slow_unless_sanitized
    need zsh
    local tool
    for tool in $TOOLS; do
        zsh -n "$COMP/zsh/_$tool"
        [[ $(head -n 1 "$COMP/zsh/_$tool") = "#compdef $tool" ]]
        options_of "$tool" > want
        # as they stand there: -m+ and --model= take values
        grep -oE "(^ +'|[{,*])-[-a-zA-Z0-9]+[+=]?" "$COMP/zsh/_$tool" | grep -oE -- '-[-a-zA-Z0-9]+' | sort > got
        diff want got
    done
}

@test "fish: options, values and files" {
    slow_unless_sanitized
    need fish
    local tool
    export HOME=$BATS_TEST_TMPDIR XDG_DATA_HOME=$BATS_TEST_TMPDIR XDG_CONFIG_HOME=$BATS_TEST_TMPDIR
    # complete_fish LINE: the completions of its last word
    complete_fish() {
        fish -N -c 'source $argv[1]; complete -C $argv[2]' "$COMP/fish/${1%% *}.fish" "$1" | cut -f 1 | sort
    }
    for tool in $TOOLS; do
        run -0 complete_fish "$tool --"
        is_output "$(options_of "$tool" | grep '^--')"
    done
    run -0 complete_fish "tg-init -P g"
    is_output "gemma3-270m
gpt2
gpt2-large
gpt2-medium
gpt2-xl"
    run -0 complete_fish "tg-init --tied y"
    is_output yes
    touch file.npz
    run -0 complete_fish "tg-train --model fi"
    is_output file.npz
    run -0 complete_fish "tg-train fi"
    is_output file.npz
    run -0 complete_fish "tg-init fi"
    is_output ""
    run -0 complete_fish "tg-init --n-layer fi"
    is_output ""
}

@test "another shell is refused" {
    run -2 --separate-stderr tg-init --help=tcsh
    is_output ""
    said "tg-init: --help takes no value, except a shell, to print its completions: bash|zsh|fish"
}

@test "they are installed where the shells look for them, and removed" {
    slow_unless_sanitized
    [[ $BUILD = "$ROOT"/build/release ]] || skip "done once, with the release build"
    local tool
    make -s -C "$ROOT" install-completions DESTDIR="$PWD/root" PREFIX=/usr
    for tool in $TOOLS; do
        cmp "root/usr/share/bash-completion/completions/$tool" "$COMP/bash/$tool"
        cmp "root/usr/share/zsh/site-functions/_$tool" "$COMP/zsh/_$tool"
        cmp "root/usr/share/fish/vendor_completions.d/$tool.fish" "$COMP/fish/$tool.fish"
    done
    touch root/usr/share/zsh/site-functions/_other
    make -s -C "$ROOT" uninstall-completions DESTDIR="$PWD/root" PREFIX=/usr > /dev/null
    [[ $(find root -type f) = root/usr/share/zsh/site-functions/_other ]]
}

@test "at a prompt, bash-completion finds them where they are installed" {
    slow_unless_sanitized
    [[ $BUILD = "$ROOT"/build/release ]] || skip "done once, with the release build"
    local found=/usr/share/bash-completion/bash_completion
    [[ -r $found ]] || skip "bash-completion is not installed"
    need script
    make -s -C "$ROOT" install-completions DESTDIR="$PWD/root" PREFIX=/usr
    tg-init -P tinygpt -o want.npz
    at_prompt "bash --norc --noprofile -i" << END
PATH='$PATH'; export XDG_DATA_DIRS='$PWD/root/usr/share'; source $found
tg-init --preset ti\\t -o got.npz
END
    cmp got.npz want.npz
}
