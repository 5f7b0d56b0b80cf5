# The C tests, tests/unit/test_*.c: one program each, and the kernels' tests once for each
# instruction set, with the usual blocks and with tiny ones.  In make soak they try more cases (check_soak()).

load helper

setup_file() {
    # Whoever names a build has made it, with flags that are not known here.
    [[ -n ${TG_BUILD:-} ]] || make -C "$BATS_TEST_DIRNAME/.." -s unit tiny
}

# unit TEST [ISA]: status 77 means that this machine lacks the instruction set.
unit() {
    run "${DIR:-$BUILD}/unit/test_$1" "${@:2}"
    echo "$output"
    [[ $status != 77 ]] || skip "${lines[-1]}"
    [[ $status = 0 ]]
}

with_isa() {
    unit kernels "$1"
    unit products "$1"
    unit attend16 "$1"
    unit nn "$1"
    unit model "$1"
}

tiny() {
    DIR=$BUILD-tiny
    "$@"
}

@test "unit: base" { unit base; }
@test "unit: memory" { unit memory; }
@test "unit: threads" { unit threads; }
@test "unit: decimal" { unit decimal; }
@test "unit: json" { unit json; }
@test "unit: npy" { unit npy; }
@test "unit: zip" { unit zip; }
@test "unit: pickle" { unit pickle; }
@test "unit: png" { unit png; }
@test "unit: torch_file" { unit torch_file; }
@test "unit: torch_model" { unit torch_model; }
@test "unit: llama2c" { unit llama2c; }
@test "unit: llmc" { unit llmc; }
@test "unit: archive" { unit archive; }
@test "unit: save" { unit save; }
@test "unit: fields" { unit fields; }
@test "unit: array" { unit array; }
@test "unit: tensor_list" { unit tensor_list; }
@test "unit: safetensors" { unit safetensors; }
@test "unit: block_types" { unit block_types; }
@test "unit: gguf" { unit gguf; }
@test "unit: gguf_vocab" { unit gguf_vocab; }
@test "unit: gguf_model" { unit gguf_model; }
@test "unit: gguf_families" { unit gguf_families; }
@test "unit: gguf_write" { unit gguf_write; }
@test "unit: gguf_refused" { unit gguf_refused; }
@test "unit: lending" { unit lending; }
@test "unit: tokens" { unit tokens; }
@test "unit: tokenizer" { unit tokenizer; }
@test "unit: stream" { unit stream; }
@test "unit: chars" { unit chars; }
@test "unit: bare_ids" { unit bare_ids; }
@test "unit: eval" { unit eval; }
@test "unit: circuit" { unit circuit; }
@test "unit: info" { unit info; }
@test "unit: bpe" { unit bpe; }
@test "unit: vocab_file" { unit vocab_file; }
@test "unit: split" { unit split; }
@test "unit: normalize" { unit normalize; }
@test "unit: learn" { unit learn; }
@test "unit: tensor" { unit tensor; }
@test "unit: ref" { unit ref; }
@test "unit: worked" { unit worked; }
@test "unit: example" { unit example; }
@test "unit: model_file" { unit model_file; }
@test "unit: family" { unit family; }
@test "unit: grouped" { unit grouped; }
@test "unit: hf_families" { unit hf_families; }
@test "unit: hf_layers" { unit hf_layers; }
@test "unit: hf_write" { unit hf_write; }
@test "unit: hf_weights" { unit hf_weights; }
@test "unit: llama_ops" { unit llama_ops; }
@test "unit: spm" { unit spm; }
@test "unit: spm_files" { unit spm_files; }
@test "unit: sample" { unit sample; }
@test "unit: attn" { unit attn; }
@test "unit: dump" { unit dump; }
@test "unit: view" { unit view; }
@test "unit: label" { unit label; }
@test "unit: rows" { unit rows; }
@test "unit: stage" { unit stage; }
@test "unit: growing" { unit growing; }
@test "unit: lens" { unit lens; }
@test "unit: steer" { unit steer; }
@test "unit: lines" { unit lines; }
@test "unit: heads" { unit heads; }
@test "unit: history" { unit history; }
@test "unit: program" { unit program; }
@test "unit: ablate" { unit ablate; }
@test "unit: patch" { unit patch; }
@test "unit: paths" { unit paths; }
@test "unit: probe" { unit probe; }
@test "unit: trace" { unit trace; }
@test "unit: vectors" { unit vectors; }
@test "unit: gradient" { unit gradient; }
@test "unit: muon" { unit muon; }
@test "unit: masked" { unit masked; }
@test "unit: backward" { unit backward; }
@test "unit: adapter" { unit adapter; }
@test "unit: train" { unit train; }
@test "unit: first_context" { unit first_context; }
@test "unit: average" { unit average; }

# Kernels, products, operations and models: up to ten seconds each, because the naive references are slow.
@test "unit: amx" { with_isa amx; }
@test "unit: avx512bf16" { with_isa avx512bf16; }
@test "unit: avx512" { with_isa avx512; }
@test "unit: avx2" { with_isa avx2; }
@test "unit: neon" { with_isa neon; }
@test "unit: portable" { with_isa portable; }

@test "unit: tiny blocks, amx" { tiny with_isa amx; }
@test "unit: tiny blocks, avx512bf16" { tiny with_isa avx512bf16; }
@test "unit: tiny blocks, avx512" { tiny with_isa avx512; }
@test "unit: tiny blocks, avx2" { tiny with_isa avx2; }
@test "unit: tiny blocks, neon" { tiny with_isa neon; }
@test "unit: tiny blocks, portable" { tiny with_isa portable; }
@test "unit: tiny blocks, tokens" { tiny unit tokens && tiny unit tokenizer; }
@test "unit: tiny blocks, learn" { tiny unit learn; }
@test "unit: tiny blocks, family" { tiny unit family; }
@test "unit: tiny blocks, backward" { tiny unit backward; }

@test "unit: every C test and every instruction set is named here" {
    for file in "$ROOT"/tests/unit/test_*.c; do
        name=${file##*/test_}
        grep -q "^ *{* *\(@test .*{ \)\?unit ${name%.c}[; ]" "$BATS_TEST_FILENAME" || { echo "$file"; false; }
    done
    for isa in $(sed -n 's/^ISA_FLAGS_\([a-z0-9]*\) =.*/\1/p' "$ROOT/Makefile"); do
        grep -q "\"unit: $isa\" { with_isa $isa; }" "$BATS_TEST_FILENAME"
        grep -q "\"unit: tiny blocks, $isa\" { tiny with_isa $isa; }" "$BATS_TEST_FILENAME"
    done
}
