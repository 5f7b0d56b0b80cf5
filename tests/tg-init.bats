load helper

SETTINGS="n_layer n_head n_embd n_ctx vocab_size layer_norm_epsilon activation layer_norm_weight
layer_norm_bias linear_bias tied head_bias"

# What a config says, one setting a line.
config_of() {
    # shellcheck disable=SC2046,SC2086
    scalars "$1" $(printf 'config/%s ' $SETTINGS) | paste -d ' ' <(printf '%s\n' $SETTINGS) -
}

@test "the default is baby, with as many parameters as the formula says" {
    run -0 --separate-stderr tg-init -o model.npz
    is_output ""
    # V*C + T*C + L*(12*C*C + 13*C) + 2*C
    [[ $((256 * 128 + 64 * 128 + 4 * (12 * 128 * 128 + 13 * 128) + 2 * 128)) = 834304 ]]
    said "tg-init: baby: 4 layers, 4 heads, width 128, context 64, vocabulary 256: 834,304 parameters"
    run -0 config_of model.npz
    is_output "n_layer 4
n_head 4
n_embd 128
n_ctx 64
vocab_size 256
layer_norm_epsilon 1e-05
activation gelu_new
layer_norm_weight 1
layer_norm_bias 1
linear_bias 1
tied 1
head_bias 0"
}

@test "standard output and -o give the same bytes" {
    run_pipe 0 'tg-init > a.npz'
    tg-init -o b.npz
    tg-init -o - > c.npz
    tg-init --preset baby | cat > d.npz
    cmp a.npz b.npz
    cmp a.npz c.npz
    cmp a.npz d.npz
    python3 -m zipfile -t a.npz
}

@test "tinygpt: no LayerNorm affine, untied head with a bias, one head" {
    run -0 --separate-stderr tg-init -P tinygpt -o model.npz
    said "tinygpt: "
    said ", 1 head, "
    run -0 scalars model.npz config/n_head config/tied
    is_output "1
0"
    run -0 names model.npz
    [[ $output = *lm_head.weight* && $output = *lm_head.bias* ]]
    [[ $output != *ln_1* && $output != *ln_f* ]]
}

@test "presets of other families: small ones" {
    slow_unless_sanitized
    local preset family count
    while read -r preset family count; do
        run -0 tg-init -P "$preset" -o model.npz --force
        is_output "tg-init: $preset: 4 layers, 4 heads, width 128, context 64, vocabulary 256: $count parameters"
        run -0 tg-info model.npz
        [[ $output = *"family $family, "* ]]
    done << 'END'
baby-llama llama 820,352
baby-qwen2 qwen2 821,376
baby-qwen3 qwen3 1,017,472
baby-gemma gemma 787,584
baby-gemma2 gemma2 821,376
baby-olmo2 olmo2 919,680
baby-neox gpt_neox 858,880
baby-phi3 phi3 918,656
baby-stablelm stablelm 921,344
baby-nanochat nanochat 851,968
END
    run -0 tg-init -P baby-gemma3 -o model.npz --force
    is_output "tg-init: baby-gemma3: 6 layers, 4 heads, width 128, context 64, vocabulary 256: 1,166,848 parameters"
    run -0 tg-init -q -P baby-gemma2 -o model.npz --force
    run -0 tg-info model.npz
    [[ $(tr -s ' \n' ' ' <<< "$output") = *"window 16, window_layers 0 2, attn_cap 50,"* ]]
    [[ $output = *"final_logit_softcapping 30"* && $output = *"norm_offset 1,"* ]]
}

@test "presets of other families: as many parameters as the models that they are named after" {
    slow
    run -0 tg-init -P baby-llama -o model.npz
    is_output "tg-init: baby-llama: 4 layers, 4 heads, width 128, context 64, vocabulary 256: 820,352 parameters"
    run -0 scalars model.npz config/family config/n_kv_head config/head_dim config/rope_theta
    is_output "llama
2
32
10000.0"
    # the parameters are counted before there is no memory for them
    local preset count
    while read -r preset count; do
        run -3 bash -c 'ulimit -v 200000; exec tg-init --sandbox off -P "$1" -o model.npz' - "$preset"
        [[ $output = "tg-init: $preset: "*": $count parameters"* ]]
    done <<< "smollm2-135m 134,515,008
smollm2-360m 361,821,120
llama3.2-1b 1,235,814,400
qwen2.5-0.5b 494,032,768
qwen3-0.6b 596,049,920
gemma3-270m 268,098,176
pythia-70m 70,426,624
pythia-160m 162,322,944"
}

@test "options of other families change them, and are refused where they have no meaning" {
    run -0 tg-init -q -P baby-llama --n-head 8 --n-kv-head 4 --n-inner 100 --rope-theta 500 --window 5 --qk-norm yes -o model.npz
    run -0 scalars model.npz config/n_kv_head config/head_dim config/n_inner config/rope_theta config/window config/qk_norm
    is_output "4
16
100
500.0
5
1"
    run -0 tg-info model.npz
    [[ $output = *"window_layers 0-3"* ]] # all of them
    run -2 tg-init --n-kv-head 2 -o no.npz
    is_output "tg-init: --n-kv-head: models like baby do not have it"
    run -2 tg-init -P baby-llama --linear-bias no -o no.npz
    is_output "tg-init: --linear-bias: models like baby-llama do not have it"
    run -2 tg-init -P baby-llama --n-kv-head 3 -o no.npz
    is_output "tg-init: config/n_kv_head is 3, expected a divisor of config/n_head, 4"
    [[ ! -e no.npz ]]
}

@test "heads divide the width, unless the channels of a head are given" {
    run -2 tg-init -P baby-llama --n-head 10 -o no.npz
    is_output "tg-init: 10 heads do not divide C = 128, expected one of 1 2 4 8 16 32 64 128"
    [[ ! -e no.npz ]]
    run -0 tg-init -q -P baby-llama --n-head 10 --head-dim 12 -o model.npz
    run -0 tg-init -q -P baby-qwen3 --n-head 6 -o model.npz # its heads have 64 channels
    run -0 scalars model.npz config/head_dim
    is_output 64
}

@test "windows reach the layers that a config can name, and no model has more" {
    small() {
        tg-init -q --n-embd 8 --n-inner 8 --n-head 2 --n-kv-head 1 --n-ctx 8 "$@"
    }
    small -P baby-gemma3 --n-layer 64 -o model.npz
    run -0 tg-info model.npz
    [[ $(tr -s ' \n' ' ' <<< "$output") = *"window_layers 0-4 6-10 12-16 18-22 24-28 30-34 36-40 42-46 48-52 54-58 60-63,"* ]]
    small -P baby-llama --window 4 --n-layer 64 -o model.npz
    run -0 tg-info model.npz
    [[ $output = *"window_layers 0-63"* ]]
    for preset in baby-llama baby-gemma3; do
        run -2 small -P $preset --window 4 --n-layer 65 -o no.npz
        is_output "tg-init: 65 layers, but a model with a window has at most 64: --window 0 turns it off"
        [[ ! -e no.npz ]]
        small -P $preset --window 0 --n-layer 65 -o $preset.npz
    done
}

@test "a model of each family trains, samples and is dumped" {
    slow
    local preset
    tg-tokenize <<< 'to be or not to be, that is the question; to be or not to be' > tokens.npz
    for preset in $BABIES $MORE_BABIES; do
        tg-init -q -P $preset --n-layer 2 --n-ctx 16 -o $preset.npz
        run -0 --separate-stderr tg-train --steps 3 -m $preset.npz tokens.npz
        run -0 tg-sample -q -m $preset.npz -p 'to be' -n 3
        run -0 --separate-stderr tg-attn-dump -m $preset.npz -p 'to be' -o dump.npz
        run -0 tg-attn-dump -m $preset.npz --check dump.npz
    done
}

@test "the bytes depend on the seed alone" {
    slow
    local threads
    tg-init --seed 7 -o want.npz
    for threads in 1 2 3 4; do
        OMP_NUM_THREADS=$threads tg-init --seed 7 -o got.npz
        cmp want.npz got.npz
    done
    tg-init --seed 8 -o other.npz
    run -1 cmp -s want.npz other.npz
    tg-init --seed 18446744073709551615 -o other.npz
}

# changed OPTION VALUE NAME WANT: the option changes this setting and no other.
changed() {
    local got want
    run -0 --separate-stderr tg-init --n-embd 32 "$1" "$2" -o model.npz
    said "baby, changed: "
    got=$(config_of model.npz)
    want=$(sed "s/^$3 .*/$3 $4/" <<< "$BASE")
    if [[ $got != "$want" || $got = "$BASE" ]]; then
        echo "$1 $2 gave: $got"
        return 1
    fi
}

@test "every config value is an option" {
    slow
    tg-init --n-embd 32 -o base.npz
    BASE=$(config_of base.npz)
    [[ $BASE = *"n_embd 32"* ]]
    changed --n-layer 3 n_layer 3
    changed --n-head 8 n_head 8
    changed --n-ctx 17 n_ctx 17
    changed --vocab-size 300 vocab_size 300
    changed --layer-norm-epsilon 1e-6 layer_norm_epsilon 1e-06
    changed --activation gelu activation gelu
    changed --layer-norm-weight no layer_norm_weight 0
    changed --layer-norm-bias no layer_norm_bias 0
    changed --linear-bias no linear_bias 0
    changed --tied no tied 0
    changed --head-bias yes head_bias 1
}

@test "the choices decide which tensors there are" {
    tg-init --n-embd 32 --n-layer 1 --layer-norm-bias no --linear-bias no --tied no -o model.npz
    run -0 bash -c "python3 -m zipfile -l model.npz | grep -c bias.npy"
    is_output 3 # config/layer_norm_bias, config/linear_bias, config/head_bias
    run -0 names model.npz
    [[ $output = *h.0.ln_1.weight* && $output = *lm_head.weight* ]]
}

@test "NumPy sees GPT-2's initialisation" {
    slow
    need_numpy
    tg-init --n-layer 8 -o model.npz
    run -0 python3 -c '
import numpy as np
z = np.load("model.npz")
near = lambda name, std: abs(z[name].std() / std - 1) < 0.03 and abs(z[name].mean()) < std / 20
assert near("wte.weight", 0.02) and near("h.7.attn.c_attn.weight", 0.02)
assert near("h.7.attn.c_proj.weight", 0.02 / 16 ** 0.5) and near("h.0.mlp.c_proj.weight", 0.02 / 16 ** 0.5)
assert (z["ln_f.weight"] == 1).all() and (z["h.3.mlp.c_fc.bias"] == 0).all()
assert z["h.0.attn.c_attn.weight"].shape == (128, 384) and z["wpe.weight"].shape == (64, 128)
assert (z["h.0.mlp.c_fc.weight"] != z["h.1.mlp.c_fc.weight"]).any()
print(sum(z[n].size for n in z.files if n.endswith((".weight", ".bias"))))
'
    is_output "$((256 * 128 + 64 * 128 + 8 * (12 * 128 * 128 + 13 * 128) + 2 * 128))"
}

# ---- bad usage

@test "impossible shapes are refused with the numbers" {
    run -2 --separate-stderr tg-init --n-head 3 -o model.npz
    said "3 heads do not divide C = 128"
    run -2 --separate-stderr tg-init --vocab-size 255 -o model.npz
    said 'vocab_size 255 is below the 256 ids of tokenizer "bytes"'
    [[ ${#stderr_lines[@]} = 1 ]]
    run -2 --separate-stderr tg-init --vocab-size 0 -o model.npz
    said "--vocab-size must be between 1 and 16777216, got 0"
    run -2 --separate-stderr tg-init --n-layer 0 -o model.npz
    said "--n-layer must be between 1 and 112, got 0"
    run -2 --separate-stderr tg-init --n-embd 99999999999999999999 -o model.npz
    said "--n-embd must be between 1 and 16777216, got 99999999999999999999"
    run -2 --separate-stderr tg-init --layer-norm-epsilon 0 -o model.npz
    said "--layer-norm-epsilon must be between 1e-12 and 1, got 0"
    run -2 --separate-stderr tg-init --preset gpt3 -o model.npz
    said "--preset must be one of tinygpt|baby|"
    run -2 --separate-stderr tg-init --tied maybe -o model.npz
    said "--tied must be one of yes|no, got 'maybe'"
    run -2 --separate-stderr tg-init model.npz
    said "unexpected operand 'model.npz'"
    run -0 ls -A
    is_output ""
}

@test "a model that no memory holds is refused" {
    need_plain_build
    run -3 --separate-stderr bash -c 'ulimit -v 4000000; exec tg-init -P gpt2-xl -o model.npz'
    [[ ${stderr_lines[0]} = *"1,557,611,200 parameters" ]]
    [[ ${stderr_lines[2]} = "tg-init: out of memory: "* ]]
    run -0 ls -A
    is_output ""
}

@test "a failed write leaves the old model as it was" {
    need_dev_full
    echo precious > model.npz
    run -2 --separate-stderr tg-init --n-head 3 --force -o model.npz
    said "3 heads do not divide C = 128"
    [[ $(< model.npz) = precious ]]
    run -3 --separate-stderr tg-init -o missing/model.npz
    said "tg-init: missing/model.npz: "
    run -3 --separate-stderr tg-init -o /dev/full
    [[ ${stderr_lines[-1]} = "tg-init: /dev/full: "*"No space left on device" ]]
}

@test "a large model shows how far it is, on a terminal only" {
    slow
    # stopped meanwhile: however fast the processor is, it takes longer than the second that shows nothing
    shows_on_terminal 'drawing the weights: [0-9]+%, [0-9a-z.]+ left' \
        'bash -c "tg-init -P gpt2-medium -o /dev/null & sleep 0.2; kill -STOP \$!; sleep 1.5; kill -CONT \$!; wait"'
    run timeout 3 tg-init -P gpt2-medium -o /dev/null
    is_output "tg-init: gpt2-medium: 24 layers, 16 heads, width 1,024, context 1,024, vocabulary 50,257: 354,823,168 parameters
tg-init: the tokenizer is bytes, 256 of the 50,257 ids; -t gives it another"
}
