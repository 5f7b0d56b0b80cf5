# What the tools answer to ordinary mistakes, and which other spellings they take.
load helper

# one_step ARGS...: a small new model, trained for one step.
one_step() {
    tg-train -c 8 -b 1 -n 1 "$@" 2> /dev/null
}

# ---- commands that a message suggests

@test "the command that continues a run can be pasted, whatever its files are called" {
    local name
    make_text 500 | tg-tokenize > t.npz
    tg-init -P tinygpt -o model.npz
    mkdir "my dir"
    for name in "my model.npz" "it's.npz" '$HOME.npz' '~.npz' 'a;b&c.npz' $'new\nline.npz' $'tab\t\'\\.npz' \
        $'\xff.npz' "gewöhnlich.npz" -x.npz; do
        cp t.npz "./$name"
        cp t.npz "my dir/$name"
        one_step -m "./$name.model" -o "my dir/out" "my dir/$name" -- "$name"
        run -0 --separate-stderr tg-train -m "./$name.model" -o "my dir/out" "my dir/$name" -- "$name"
        said "to continue: tg-train "
        printf '%s\0' tg-train -m "./$name.model" -o "my dir/out" --steps 2 > want
        [[ $name != -* ]] || printf '%s\0' -- >> want
        printf '%s\0' "my dir/$name" "$name" >> want
        bash -c "printf '%s\\0' ${stderr#*to continue: }" > got
        cmp got want
        rm "my dir/out"
    done
}

@test "plain names are not quoted, and too many of them are cut" {
    local i files=()
    make_text 500 | tg-tokenize > t.npz
    one_step -m m.npz t.npz
    run -0 --separate-stderr tg-train -m m.npz ./t.npz "$PWD/t.npz"
    said "to continue: tg-train -m m.npz --steps 2 ./t.npz $PWD/t.npz"
    for i in {1..300}; do
        files+=(./././t.npz)
    done
    run -0 --separate-stderr tg-train -m m.npz "${files[@]}"
    [[ $stderr = *"to continue: tg-train -m m.npz --steps 2 ./././t.npz "*"./././t.npz ..." ]]
}
