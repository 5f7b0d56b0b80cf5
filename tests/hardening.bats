# What the compiler and the linker add against attacks (HARDENING in the Makefile), read from what was built.

load helper

setup() {
    tg_setup
    [[ $BUILD = "$ROOT"/build/release ]] || skip "done once, with the release build"
    need readelf
    built=("$BUILD"/bin/* "$BUILD/libtg.so")
}

# objects: all that tools and library are made of, one a line.
objects() {
    find "$BUILD"/obj/{cmd,formats,lib} -name '*.o'
}

# commands VARIABLE=VALUE...: what make would run for an object and a tool with these.
commands() {
    make -n V=1 -C "$ROOT" BUILD="$PWD/b" "$@" "$PWD/b/obj/lib/base/status.o" "$PWD/b/bin/tg-init" > out
    grep -e 'lib/base/status.c$' out
    grep -e "-o $PWD/b/bin/tg-init" out
}

# ---- what was built

@test "tools are position-independent, and tools and library are linked in full before they run" {
    slow_unless_sanitized
    for file in "${built[@]}"; do
        echo "$file"
        readelf -hlWd "$file" > elf
        grep -q 'Type:  *DYN' elf
        grep -q 'GNU_RELRO' elf
        grep -q '(FLAGS) .*BIND_NOW' elf
        grep -q '(FLAGS_1) .*NOW' elf
        [[ $file = *.so ]] || grep -q '(FLAGS_1) .*PIE' elf
        run ! grep -E 'TEXTREL|RPATH|RUNPATH' elf
    done
    cases ${#built[@]} "files"
}

@test "no stack and no writable segment is executable" {
    for file in "${built[@]}"; do
        echo "$file"
        readelf -lW "$file" > elf
        grep -q 'GNU_STACK .* RW  *0x' elf
        run ! grep -E '^ .* RWE ' elf
    done
}

@test "functions with arrays have a canary, and large frames touch every page" {
    need objdump
    for file in "${built[@]}"; do
        echo "$file"
        readelf -W --dyn-syms "$file" | grep -q ' __stack_chk_fail'
    done
    # say() has 6 KiB of arrays
    objdump -d "$BUILD/obj/cmd/cli/messages.o" > code
    case $(uname -m) in
        x86_64) grep -qE 'sub +\$0x1000,%rsp' code && grep -qE '(or|mov)[lq] +\$0x0,(0x[0-9a-f]+)?\(%rsp\)' code ;;
        aarch64) grep -qE 'str\s+xzr, \[sp' code ;;
        *) skip "stack clash protection is not looked for on $(uname -m)" ;;
    esac
}

@test "functions of the C library know the sizes of buffers" {
    for file in "${built[@]}"; do
        echo "$file"
        readelf -W --dyn-syms "$file" > symbols
        grep -q ' __snprintf_chk' symbols
        grep -q ' __mem[a-z]*_chk' symbols
    done
}

# checks OBJECT: how many calls of such functions it has.
checks() {
    objdump -dr "$1" | grep -c '_chk'
}

# torch_file.c copies into memory that it has asked for
@test "functions of the C library know sizes that are found out at run time: level 3" {
    slow_unless_sanitized
    need objdump
    commands > flags
    grep -q SOURCE=3 flags || skip "the compiler does not know _FORTIFY_SOURCE=3"
    make -s -C "$ROOT" BUILD="$PWD/b" CPPFLAGS=-D_FORTIFY_SOURCE=2 "$PWD/b/obj/formats/torch_file.o"
    [[ $(checks "$BUILD/obj/formats/torch_file.o") -gt $(checks b/obj/formats/torch_file.o) ]]
}

# mark_of_branches: sets $mark; without it a file's functions may be entered anywhere.
mark_of_branches() {
    case $(uname -m) in
        x86_64) mark='IBT, SHSTK' ;;
        aarch64) mark='BTI, PAC' ;;
        *) skip "$(uname -m) has none" ;;
    esac
}

@test "every object is marked for the processor's protection of branches" {
    slow
    mark_of_branches
    objects > all
    [[ $(wc -l < all) -gt 200 ]]
    while read -r object; do
        readelf -nW "$object" | grep -q "$mark" || echo "$object"
    done < all > unmarked
    [[ ! -s unmarked ]] || { cat unmarked; false; }
    cases "$(wc -l < all)" "objects"
}

# The linker marks a file if all of its objects are marked, those of the C library too.
@test "tools and library also have that mark" {
    mark_of_branches
    for file in crti.o Scrt1.o; do
        readelf -nW "$(gcc -print-file-name=$file)" | grep -q "$mark" || skip "the C library's $file is not marked"
    done
    for file in "${built[@]}"; do
        echo "$file"
        readelf -nW "$file" | grep -q "$mark"
    done
}

# ---- which flags are used

ours='-fstack-protector-strong|-fstack-clash-protection|-fcf-protection|-mbranch-protection|FORTIFY| -pie|-Wl,-z'

@test "HARDENING= and sanitizers leave the flags out" {
    slow_unless_sanitized
    commands > with
    for flag in FORTIFY_SOURCE=3 -fstack-protector-strong -pie -Wl,-z,now; do grep -q -e "$flag" with; done
    commands HARDENING= > without
    run ! grep -E -e "$ours" without
    commands VARIANT=asan > without
    run ! grep -E -e "$ours" without
    commands CFLAGS='-O1 -fsanitize=address' > without
    run ! grep -E -e FORTIFY without
}

@test "_FORTIFY_SOURCE is left to who defines it, and to optimised builds" {
    slow
    for variable in CPPFLAGS=-D_FORTIFY_SOURCE=2 CFLAGS='-O2 -Wp,-D_FORTIFY_SOURCE=2'; do
        commands "$variable" > out2
        [[ $(grep -o 'FORTIFY_SOURCE[=0-9]*' out2 | sort -u) = FORTIFY_SOURCE=2 ]]
        grep -q -e -fstack-protector-strong out2
        make -s -C "$ROOT" BUILD="$PWD/b" WERROR=1 "$variable" "$PWD/b/obj/lib/base/status.o"
        rm -r b
    done
    commands CFLAGS='-O2 -O0' > out2
    run ! grep -q FORTIFY out2
    make -s -C "$ROOT" BUILD="$PWD/b" WERROR=1 CFLAGS=-O0 "$PWD/b/obj/lib/base/status.o"
    rm -r b
    commands LDFLAGS=-static > out2
    run ! grep -q -e ' -pie' out2
}

@test "flags that the compiler or the linker does not know are left out" {
    slow
    cat > old-cc << 'EOF'
#!/bin/sh
case " $* " in
    *FORTIFY_SOURCE=3*) echo "level 3 is not known" >&2; exit 1 ;;
    *-fstack-clash-protection* | *-fcf-protection* | *-mbranch-protection* | *-z,now*) exit 1 ;;
esac
exec gcc "$@"
EOF
    chmod +x old-cc
    commands CC="$PWD/old-cc" > flags
    grep -q -e '-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong' flags
    grep -q -e -Wl,-z,relro flags
    grep -q -e ' -pie ' flags
    run ! grep -E -e '-fstack-clash-protection|-fcf-protection|-mbranch|-z,now|SOURCE=3' flags
    make -s -C "$ROOT" BUILD="$PWD/b" CC="$PWD/old-cc" WERROR=1 "$PWD/b/obj/lib/base/status.o"
}
