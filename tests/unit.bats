# The C tests, tests/unit/test_*.c: one program each.

load helper

setup_file() {
    # `make test` has built them; after a plain `make`, do it here.
    make -C "$BATS_TEST_DIRNAME/.." -s unit ${TG_BUILD:+BUILD="$TG_BUILD"}
}

unit() {
    run "$BUILD/unit/test_$1"
    echo "$output"
    [[ $status = 0 ]]
}

@test "unit: base" { unit base; }
@test "unit: decimal" { unit decimal; }
@test "unit: npy" { unit npy; }
@test "unit: zip" { unit zip; }
@test "unit: archive" { unit archive; }
@test "unit: save" { unit save; }
@test "unit: fields" { unit fields; }
@test "unit: tensors" { unit tensors; }
@test "unit: tokens" { unit tokens; }
@test "unit: tokenizer" { unit tokenizer; }
@test "unit: tensor" { unit tensor; }
@test "unit: ref" { unit ref; }
@test "unit: worked" { unit worked; }
@test "unit: kernels" { unit kernels; }
@test "unit: nn" { unit nn; }
@test "unit: model" { unit model; }
@test "unit: import" { unit import; }
@test "unit: family" { unit family; }
@test "unit: sample" { unit sample; }
@test "unit: attn" { unit attn; }
@test "unit: dump" { unit dump; }
@test "unit: view" { unit view; }
@test "unit: rows" { unit rows; }
@test "unit: stage" { unit stage; }
@test "unit: lines" { unit lines; }
@test "unit: heads" { unit heads; }
@test "unit: ablate" { unit ablate; }
@test "unit: trace" { unit trace; }
@test "unit: gradient" { unit gradient; }
@test "unit: train" { unit train; }

@test "unit: every C test is named here" {
    for file in "$ROOT"/tests/unit/test_*.c; do
        name=${file##*/test_}
        grep -q "{ unit ${name%.c}; }" "$BATS_TEST_FILENAME" || { echo "$file"; false; }
    done
}
