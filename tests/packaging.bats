# What a packager meets: installing, headers and libraries as another program uses them, building
# elsewhere, flags, the tarball of a release, the Debian package.

load helper

# Installed once for all tests, from the release build.
setup_file() {
    tg_fixtures
    [[ $BUILD = "$ROOT"/build/release ]] || return 0
    make -s -C "$ROOT" install DESTDIR="$FIXTURES/root" PREFIX=/usr > /dev/null
    tg-init > model.npz 2> /dev/null
}

setup() {
    tg_setup
    [[ $BUILD = "$ROOT"/build/release ]] || skip "done once, with the release build"
    DEST=$FIXTURES/root
    export PKG_CONFIG_LIBDIR=$DEST/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$DEST
    STRICT=(-Wall -Wextra -Wpedantic -Werror)
}

# ---- installing

@test "make install puts everything in its place" {
    slow_unless_sanitized
    cd "$DEST/usr"
    [[ -x bin/tg-train && -f share/man/man1/tg-train.1 ]]
    [[ -f include/tg/tg.h && -f include/tg/lib/tg/model.h && ! -e include/tg/formats && ! -e include/tg/lib/gpt ]]
    [[ -f share/doc/tg/README.md && -f share/doc/tg/docs/walkthrough.zh-CN.md ]]
    [[ -f share/doc/tg/formats/README.md && -f share/man/man7/tg.7 ]]
    [[ -f share/bash-completion/completions/tg-train && -f share/zsh/site-functions/_tg-train ]]
    [[ -f share/fish/vendor_completions.d/tg-train.fish ]]
    if command -v man > /dev/null; then
        [[ $(MANPATH=$PWD/share/man man -w tg) = *man7/tg.7 ]]
    fi
    # links lead to installed pages and pictures
    for page in share/doc/tg/README.md share/doc/tg/docs/*.md; do
        for link in $(grep -oE '\]\([^)#]*' "$page" | sed 's/^](//' | grep -v '^http'); do
            [[ $link = pages/*.html || -e $(dirname "$page")/$link ]] || { echo "$page links $link"; false; }
        done
    done
    [[ -f lib/libtg.a && -f lib/libtg.so && $(readlink lib/libtg.so) = libtg.so.0 ]]
    [[ -f lib/$(readlink lib/libtg.so.0) ]]
}

@test "make uninstall removes what make install made, and nothing else" {
    slow_unless_sanitized
    cp -a "$DEST" root
    touch root/usr/lib/libtg.other root/usr/include/tg/mine.h root/usr/bin/tg-mine
    make -s -C "$ROOT" uninstall DESTDIR="$PWD/root" PREFIX=/usr > /dev/null
    (cd root && find . ! -type d | LC_ALL=C sort) > left
    printf '%s\n' ./usr/bin/tg-mine ./usr/include/tg/mine.h ./usr/lib/libtg.other | cmp - left
    [[ ! -e root/usr/include/tg/lib && ! -e root/usr/share/doc/tg ]]
    make -s -C "$ROOT" uninstall DESTDIR="$PWD/root" PREFIX=/usr > /dev/null # nothing left to do
}

# ---- the library in other programs

@test "every public header can be included alone, from C and from C++" {
    slow
    need g++
    cd "$DEST/usr/include/tg"
    mapfile -t headers < <(find . -name '*.h')
    [[ ${#headers[@]} -gt 10 && ${#headers[@]} -lt 20 ]]
    for header in "${headers[@]}"; do
        echo "$header"
        printf '#include "%s"\nextern int not_empty;\n' "$header" > "$BATS_TEST_TMPDIR/alone.c"
        cc -std=c11 "${STRICT[@]}" -I. -fsyntax-only "$BATS_TEST_TMPDIR/alone.c"
        g++ -std=c++11 "${STRICT[@]}" -I. -fsyntax-only -x c++ "$BATS_TEST_TMPDIR/alone.c"
    done
    # values of structs, in both languages
    printf '#include <tg.h>\nint main(void) { tg_attn_filter f = TG_ATTN_KEEP_ALL; tg_dtype d = TG_F32; return f.layer == d.size; }\n' \
        > "$BATS_TEST_TMPDIR/values.c"
    cc -std=c11 "${STRICT[@]}" -I. -fsyntax-only "$BATS_TEST_TMPDIR/values.c"
    g++ -std=c++11 "${STRICT[@]}" -I. -fsyntax-only -x c++ "$BATS_TEST_TMPDIR/values.c"
}

@test "docs/examples/heads.c builds with the library, shared and static, and as C++" {
    slow
    need pkg-config
    need g++
    cp "$DEST/usr/share/doc/tg/docs/examples/heads.c" .
    # shellcheck disable=SC2046
    cc -std=c11 "${STRICT[@]}" -o shared heads.c $(pkg-config --cflags --libs tg)
    # shellcheck disable=SC2046
    g++ "${STRICT[@]}" -o cxx -x c++ heads.c -x none $(pkg-config --cflags --libs tg)
    # shellcheck disable=SC2046
    cc -std=c11 "${STRICT[@]}" -o static heads.c $(pkg-config --cflags tg) \
        "$DEST/usr/lib/libtg.a" $(pkg-config --static --libs tg | sed 's/-ltg//')

    export LD_LIBRARY_PATH=$DEST/usr/lib
    ./shared "$FIXTURES/model.npz" 1 2 'To be' > shared.tsv
    ./cxx "$FIXTURES/model.npz" 1 2 'To be' | cmp - shared.tsv
    LD_LIBRARY_PATH='' ./static "$FIXTURES/model.npz" 1 2 'To be' | cmp - shared.tsv
    # the numbers of tg-attn-dump
    tg-attn-dump -m "$FIXTURES/model.npz" --layer 1 --head 2 -f tsv -p 'To be' 2> /dev/null |
        awk -F '\t' -v OFS='\t' '$1 == 1 && $10 == 0 { printf "%d\t%d\t%.6f\t%.6f\n", $4, $5, $9, $11 }' > dump.tsv
    [[ $(wc -l < dump.tsv) = 15 ]]
    cmp dump.tsv shared.tsv
    # another project's model; and what tg_model_load() says of none
    ./shared "$ROOT/docs/data/induction" 1 0 'To be' > foreign
    [[ $(wc -l < foreign) -gt 1 ]]
    run -3 --separate-stderr ./shared absent.npz 0 0 x
    said "heads: absent.npz: No such file or directory"
    head -c 1000 "$FIXTURES/model.npz" > cut.npz
    run -1 --separate-stderr ./shared cut.npz 0 0 x
    said "heads: cut.npz: "
    run -2 --separate-stderr ./shared "$FIXTURES/model.npz" 4 0 x
    said "layer 4 is out of range"
}

@test "docs/examples/next.py prints what tg-sample says of the next token" {
    slow
    need python3
    export TG_LIBRARY=$DEST/usr/lib/libtg.so.0
    python3 "$DEST/usr/share/doc/tg/docs/examples/next.py" "$FIXTURES/model.npz" 'To be' > lines
    [[ $(wc -l < lines) = 5 ]]
    tg-sample -m "$FIXTURES/model.npz" -p 'To be' -n 1 --greedy --logprobs 2> /dev/null |
        awk -F '\t' 'NR == 2 { printf "%.6f\t%s\n", $6, $2; for (i = 12; i <= 21; i += 3) printf "%.6f\t\n", $(i + 2) }' > logprobs
    cut -f 1 lines | cmp - <(cut -f 1 logprobs)
    [[ $(head -n 1 lines | cut -f 2) = $(head -n 1 logprobs | cut -f 2) ]]
    run -1 --separate-stderr python3 "$ROOT/docs/examples/next.py" absent.npz x
    said "next: absent.npz: No such file or directory"
}

@test "the shared library exports the functions of the public headers, and nothing else" {
    need nm
    nm -D --defined-only "$DEST/usr/lib/libtg.so" | awk '{ print $3 }' | LC_ALL=C sort -u > exported
    cc -E -I "$DEST/usr/include/tg" "$DEST/usr/include/tg/tg.h" | grep -o 'tg_[a-z0-9_]*' | LC_ALL=C sort -u > declared
    LC_ALL=C comm -23 exported declared > private
    [[ ! -s private ]] || { cat private; false; }
    grep -qx tg_model_load exported
    grep -qx tg_derivation_new exported
    run ! grep -qx tg_model_open exported # of an internal header
    [[ $(wc -l < exported) -gt 100 ]]
    # all that is declared is there
    grep -ho '\<tg_[a-z0-9_]*(' "$DEST"/usr/include/tg/lib/tg/*.h | tr -d '(' | LC_ALL=C sort -u > functions
    LC_ALL=C comm -13 exported functions > absent
    printf '%s\n' tg_attn_base tg_attn_kv_base tg_attn_kv_head tg_attn_offset tg_chat_take tg_eval_take | cmp - absent # inline, and types
}

# ---- building

@test "make runs from another directory, and BUILD names where it writes" {
    slow
    mkdir elsewhere
    cd elsewhere
    cp -a "$BUILD/obj" . # what takes a minute to compile
    make -s -f "$ROOT/Makefile" BUILD=. "$PWD/bin/tg-init" "$PWD/libtg.so" > /dev/null
    ./bin/tg-init --help > /dev/null
    [[ -f libtg.so && -f libtg.a ]]
    make -n -f "$ROOT/Makefile" BUILD=. DESTDIR=root PREFIX=/usr install > commands
    grep -q "$PWD/bin/tg-init .* $PWD/root/usr/bin" commands
    # without BUILD it is build/ below this directory
    make -n -f "$ROOT/Makefile" > commands
    grep -q -e "-o $PWD/build/release/obj/lib/base/status.o" commands
    make -s -f "$ROOT/Makefile" BUILD=. clean
    [[ ! -e obj && ! -e bin && -e commands ]]
}

@test "kernels are optimised as CFLAGS says, or with -O3 where it says -O2" {
    slow_unless_sanitized
    object=obj/lib/kernels/isa/vector.portable.o
    last_level() {
        make -s -n V=1 -C "$ROOT" BUILD="$PWD/b" "$PWD/b/$object" "$@" | grep -o -e ' -O[^ ]*' | tail -n 1
    }
    [[ $(last_level) = ' -O3' ]]
    [[ $(last_level CFLAGS='-O2 -g -fstack-protector-strong') = ' -O3' ]]
    [[ $(last_level CFLAGS='-O2 -Og') = ' -Og' ]]
    [[ $(last_level CFLAGS='-g -O0') = ' -O0' ]]
    [[ $(last_level CFLAGS='-Os') = ' -Os' ]]
    [[ -z $(last_level CFLAGS='-g') ]]
    [[ $(last_level KERNEL_CFLAGS=-O2) = ' -O2' ]]
}

# has TOOL SYMBOL: whether the tool was linked with it.
has() {
    nm "$BUILD/bin/$1" | grep -q " $2\$"
}

@test "a tool has the functions that it reaches, and no others" {
    slow_unless_sanitized
    need nm
    local tool
    for tool in "$BUILD"/bin/tg-*; do
        tool=${tool##*/}
        echo "$tool"
        has "$tool" tg_fail
        [[ $tool = tg-convert ]] || run ! has "$tool" tg_model_writers
        [[ $tool = tg-convert ]] || run ! has "$tool" tg_gguf_begin
    done
    has tg-convert tg_model_writers
    has tg-convert tg_gguf_begin
    for tool in tg-tokenize tg-bpe tg-attn-view tg-info; do # they compute nothing; tg-convert adds adapters
        run ! has "$tool" tg_kernels_portable
    done
    for tool in tg-bpe tg-attn-view; do # they read no model
        run ! has "$tool" tg_model_formats
    done
    has tg-sample tg_kernels_portable
    has tg-sample tg_model_formats
}

# The compiler is one that only says what it is for.
@test "for another processor, completions are made by what runs its tools, or left out with a line" {
    slow_unless_sanitized
    cat > z80-gcc << 'END'
#!/bin/sh
case $1 in
    -dumpmachine) echo z80-linux-gnu ;;
    -print-prog-name=*) echo "z80-${1#*=}" ;;
    *) exit 1 ;;
esac
END
    chmod +x z80-gcc
    commands() {
        make -s -n V=1 -C "$ROOT" BUILD="$PWD/b" CC="$PWD/z80-gcc" "$@"
    }
    commands > without
    grep -q "^echo 'no completions for shells: this machine runs no tools for z80;" without
    grep -q '^rm .* z80-ar rcs ' without
    run ! grep -q -e --help= without
    commands SHELLS= > quiet
    run ! grep -q completions quiet
    commands EMULATOR=qemu-z80 SHELLS=zsh > with
    grep -qx "qemu-z80 $PWD/b/bin/tg-init --help=zsh > $PWD/b/completions/zsh/_tg-init" with
    run ! grep -q 'no completions' with
}

# A few objects: one of each rule, and the one with the version.
@test "two directories give the same bytes, with one compiler or the other" {
    slow
    local cc directory object objects=(lib/base/status.o lib/nn/ref/activation.f32.o lib/kernels/isa/normal.portable.o cmd/cli/version.o)
    for directory in one two/deeper; do
        mkdir -p "$directory"
        cp -r "$ROOT"/{Makefile,cmd,formats,lib} "$directory"
    done
    for cc in gcc clang; do
        command -v $cc > /dev/null || continue
        for directory in one two/deeper; do
            make -s -C "$directory" CC=$cc BUILD=$cc "${objects[@]/#/$cc/obj/}" HARDENING=
        done
        for object in "${objects[@]}"; do
            cmp one/$cc/obj/"$object" two/deeper/$cc/obj/"$object"
            ! grep -q "$PWD" one/$cc/obj/"$object"
        done
    done
}

@test "a compiler that is missing is one line" {
    # the flags of a make above may name descriptors that are closed here, of which it would warn
    MAKEFLAGS='' run -2 --separate-stderr make -C "$ROOT" -s CC=nonexistent BUILD="$PWD/build"
    echo "$stderr"
    [[ ${#stderr_lines[@]} = 1 && $stderr = *"CC=nonexistent: there is no such compiler."* ]]
    [[ ! -e build ]]
    run -0 make -C "$ROOT" -s CC=nonexistent help
}

@test "make help begins with what somebody new needs, and has each target once" {
    MAKEFLAGS='' run -0 make -C "$ROOT" -s --no-print-directory help
    [[ ${lines[0]} = Targets: ]]
    sed -n '2,6s/^  make \([a-z-]*\) .*/\1/p' <<< "$output" | cmp - <(printf '%s\n' all demo check test install)
    sed -n 's/^  make \([a-z-]*\) .*/\1/p' <<< "$output" | sort > got
    sed -n 's/^\([a-z-]*\):.*## .*/\1/p' "$ROOT/Makefile" "$ROOT"/tests/*.mk | sort | cmp - got
    [[ $output = *$'\nVariables (make NAME=value TARGET):\n'* ]]
}

@test "the version names the commit in a checkout, and only there" {
    slow_unless_sanitized
    need git
    mkdir one
    cp -r "$ROOT"/{Makefile,cmd,formats,lib} one
    version() {
        make -s -C one BUILD=b HARDENING= b/obj/cmd/cli/version.o > /dev/null
        strings one/b/obj/cmd/cli/version.o | grep '^%s '
    }
    plain=$(version)
    [[ $plain =~ ^%s\ [0-9.]+$ ]]
    git -C one init -q
    git -C one -c user.name=x -c user.email=x@y add Makefile
    git -C one -c user.name=x -c user.email=x@y commit -qm one
    [[ $(version) = "$plain ($(git -C one rev-parse --short=7 HEAD))" ]]
    echo '# changed' >> one/Makefile
    [[ $(version) = "$plain ($(git -C one rev-parse --short=7 HEAD)-dirty)" ]]
}

@test "subjects of commits are checked from the last release on, and only in a checkout" {
    slow_unless_sanitized
    need git
    commit() { git -c user.name=x -c user.email=x@y commit -q --allow-empty -am "$1"; }
    run -0 "$ROOT/tests/subjects"
    is_output "no git checkout: the subjects of commits are not checked"
    git init -q
    echo 'VERSION = 0.1.0' > Makefile
    git add Makefile
    commit "Subjects before the release are of any form and length: this one has more than 72 characters"
    echo 'VERSION = 0.2.0' > Makefile
    commit "Version 0.2.0"
    commit "lib/nn, Makefile: $(printf 'é%.0s' {1..54})" # 72 characters
    run -0 "$ROOT/tests/subjects"
    is_output ""
    for subject in "lib/nn, Makefile: $(printf 'e%.0s' {1..55})" "format" ": no area" "an area of words: none" "area:none"; do
        commit "$subject"
        run -1 "$ROOT/tests/subjects"
        [[ $output = "commit $(git rev-parse --short HEAD): "*": $subject" ]]
        git reset -q --hard HEAD~1
    done
    git clone -q --depth 1 "file://$PWD" shallow
    cd shallow
    run -0 "$ROOT/tests/subjects"
    is_output ""
}

@test "make install-strip installs the same tools, without what debuggers need" {
    slow
    make -s -C "$ROOT" install-strip DESTDIR="$PWD/stripped" PREFIX=/usr SHELLS= > /dev/null
    [[ $(wc -c < stripped/usr/bin/tg-train) -lt $(($(wc -c < "$DEST/usr/bin/tg-train") / 2)) ]]
    cmp <(stripped/usr/bin/tg-init 2> /dev/null) "$FIXTURES/model.npz"
    # and the library still links
    printf '#include <tg/tg.h>\nint main(void) { return tg_kernels_name() == NULL; }\n' > program.c
    gcc -I stripped/usr/include -I stripped/usr/include/tg -o program program.c stripped/usr/lib/libtg.a -ldeflate -lutf8proc -lz -lm -pthread
    ./program
}

@test "make dist makes a tarball that builds, tests and makes itself, without git" {
    slow
    [[ ! -e $ROOT/.git ]] || need git
    SOURCE_DATE_EPOCH=1000000000 make -s -C "$ROOT" BUILDS="$PWD/one" dist
    tar -xzf one/tg-*.tar.gz
    cd tg-*/
    [[ -x tests/run && -f docs/man/tg-train.1 && ! -e build && ! -e .git ]]
    # nothing that make needs is missing, and all is older than what has been built
    make -q BUILD="$BUILD" COMMIT="$(cat "$BUILD/commit")" all # it is no checkout
    mkdir ../no-git
    printf '#!/bin/sh\nexit 127\n' > ../no-git/git
    chmod +x ../no-git/git
    PATH=$BATS_TEST_TMPDIR/work/no-git:$PATH make -s BUILDS="$BATS_TEST_TMPDIR/work/two" dist
    cmp ../one/tg-*.tar.gz ../two/tg-*.tar.gz
}

# ---- the Debian package

# From objects that are there already: compiling them again would take a minute; and xz's best would take ten seconds.
@test "docs/packaging/debian builds packages in which lintian finds no errors" {
    slow
    need dh
    need lintian
    [[ ! -e $ROOT/.git ]] || need git
    make -s -C "$ROOT" BUILDS="$PWD" dist
    tar -xzf tg-*.tar.gz
    cd tg-*/
    cp -a docs/packaging/debian .
    mkdir -p build/debian
    cp -a "$BUILD/obj" build/debian
    find build -name '*.o' -exec strip -g {} +
    find build -type f -exec touch {} +
    DEB_BUILD_OPTIONS='nocheck noautodbgsym' DEB_BUILD_PROFILES=nocheck DPKG_DEB_COMPRESSOR_LEVEL=0 \
        dpkg-buildpackage -us -uc -b -nc > ../log 2>&1 || { cat ../log; false; }
    cd ..
    for package in tg libtg0 libtg-dev; do
        dpkg-deb -c "${package}"_*.deb | awk '{ print $6 }' > $package
    done
    libdir=./usr/lib/$(dpkg-architecture -q DEB_HOST_MULTIARCH)
    grep -qx ./usr/bin/tg-train tg
    grep -qx ./usr/share/man/man1/tg-train.1.gz tg
    grep -qx ./usr/share/doc/tg/README.md tg
    grep -qx ./usr/share/doc/tg/docs/walkthrough.md tg
    grep -qx ./usr/share/bash-completion/completions/tg-train tg
    grep -qx ./usr/share/zsh/vendor-completions/_tg-train tg
    grep -qx "$libdir/libtg.so.0" libtg0
    grep -qx "$libdir/libtg.a" libtg-dev
    grep -qx "$libdir/pkgconfig/tg.pc" libtg-dev
    grep -qx ./usr/include/tg/tg.h libtg-dev
    grep -qx ./usr/share/doc/libtg-dev/examples/heads.c libtg-dev
    run -0 lintian --allow-root --fail-on error tg_*.changes
    echo "$output"
}

# docs.bats runs README's commands; the package's own test runs them by this script.
@test "docs/packaging/first-ten-minutes types README's commands, and ends at one that fails" {
    slow_unless_sanitized
    mkdir tools
    for tool in "$BUILD"/bin/tg-*; do
        printf '#!/bin/sh\necho "$0 $*"\ncat > /dev/null\n' > "tools/${tool##*/}"
    done
    chmod +x tools/*
    PATH=$PWD/tools:$PATH run -0 "$ROOT/docs/packaging/first-ten-minutes" "$ROOT/README.md"
    # shellcheck disable=SC2016
    [[ $output = '$ tg-attn-dump -m docs/data/induction '* && $output = *tools/tg-train* && $output = *tools/tg-attn-view* ]]
    [[ ${lines[-1]} =~ ^\[[1-9][0-9]" commands" ]]
    printf '#!/bin/sh\nexit 3\n' > tools/tg-train
    PATH=$PWD/tools:$PATH run -3 "$ROOT/docs/packaging/first-ten-minutes" "$ROOT/README.md"
    [[ ${lines[-1]} = "status 3: tg-train "* ]]
    echo '# no such section' > README.md
    run -1 "$ROOT/docs/packaging/first-ten-minutes" README.md
    [[ $output = *"no commands under"* ]]
}
