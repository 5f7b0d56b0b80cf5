# Adapters of low rank: trained, applied by every tool, and read and written as PEFT's.

load helper

setup_file() {
    tg_fixtures
    make_text 4000 > text
    tr a-z A-Z < text > capitals
    tg-tokenize -q text > t.npz
    tg-tokenize -q capitals > c.npz
    tg-init -q -P baby-llama --n-layer 2 --n-embd 32 --n-inner 48 --head-dim 8 --n-ctx 32 -o untrained.npz
    tg-train -q -m untrained.npz -o base.npz -n 60 -b 4 t.npz
    tg-train -q -m base.npz -o adapter.npz --lora 4 -n 40 --precision float32 c.npz
}

setup() {
    tg_setup
    cp "$FIXTURES"/*.npz "$FIXTURES"/{text,capitals} .
}

loss_of() {
    tg-eval -q "$@" | awk '$1 == "loss" { print $2 }'
}

@test "an adapter learns, and the model stays as it is" {
    cp base.npz before.npz
    run -0 --separate-stderr tg-train -m base.npz -o new.npz --lora 4 --lora-targets q_proj,up_proj -n 40 c.npz
    cmp base.npz before.npz
    [[ $stderr == *"base.npz stays as it is: an adapter of rank 4, alpha 8, to self_attn.q_proj,mlp.up_proj in 2 layers"* ]]
    [[ $stderr == *"chosen: --batch 4, --context 32, --lr 0.002, --warmup 4, --precision "* ]]
    # R (in + out) parameters of each matrix: 2 * 4 * (32 + 32 + 32 + 48)
    [[ $stderr == *"tg-train: 1,152 parameters, "* ]]
    awk -v a="$(loss_of -m base.npz c.npz)" -v b="$(loss_of -m base.npz --adapter new.npz c.npz)" \
        -v c="$(loss_of -m base.npz --adapter adapter.npz c.npz)" 'BEGIN { exit !(c < b && b < a - 0.05) }'
}

@test "what is tuned is validated before the first step: as the model without the adapter" {
    local options=(-m base.npz --lora 4 -n 2 --precision float32 --val t.npz c.npz)
    tg-train "${options[@]}" -o a.npz 2> err
    loss=$(sed -n 's/^tg-train: before the first step, validation loss \([0-9.]*\),.*/\1/p' err)
    tg-train -q "${options[@]}" -o zero.npz --lr 1e-30 --log log.tsv # which changes nothing
    [[ $loss = "$(tail -n 1 log.tsv | awk -F '\t' '{ printf "%.4f", $3 }')" ]]
    # also of a whole model, but not of a new one, nor of a run that continues, nor where it is not wanted
    tg-train -m base.npz -o whole.npz -n 62 --val t.npz c.npz 2> err
    run -1 grep 'before the first step' err
    tg-convert -q base.npz --to hf -o base
    tg-train -m base -o tuned.npz -n 2 -b 4 --precision float32 --val t.npz c.npz 2> err
    grep -q "before the first step, validation loss $loss," err
    # also where it was less
    tg-train "${options[@]}" -o worse.npz --lr 0.5 2> err
    grep -qx "tg-train: before the first step, the validation loss was less: $loss" err
    tg-train "${options[@]}" -o worst.npz --lr 0.5 --keep-best 2> err
    grep -qx "tg-train: before the first step, the validation loss was less: $loss" err
    tg-train "${options[@]}" -o b.npz --eval-every 0 2> err
    run -1 grep 'before the first step' err
    cmp a.npz b.npz
}

@test "an adapter learns as much in bf16: the same bytes with any number of threads, after a stop, with what is recomputed" {
    slow_unless_sanitized
    local loss half options=(-m base.npz --lora 4 -n 40 --precision bf16 --save-every 5)
    tg-train -q "${options[@]}" -o half.npz c.npz
    loss=$(loss_of -m base.npz --adapter adapter.npz c.npz)
    half=$(loss_of -m base.npz --adapter half.npz c.npz)
    awk -v a="$loss" -v b="$half" 'BEGIN { exit !(a != b && a - b < 0.02 && b - a < 0.02) }'
    tg-train -q "${options[@]}" -o threads.npz --threads 3 --recompute c.npz
    cmp half.npz threads.npz
    killed_after_save part.npz tg-train -q "${options[@]}" -o part.npz c.npz
    tg-train -q "${options[@]}" -o part.npz c.npz
    cmp half.npz part.npz
    # snapshots are of the adapter, not of what is rounded with it
    tg-train -q "${options[@]}" -o looked-at.npz --probe Hello --probe-every 0 c.npz
    cmp half.npz looked-at.npz
    tg-attn-dump -m base.npz --adapter half.npz -p Hello -o want.npz
    for name in $(unzip -Z1 want.npz | grep -v source); do
        cmp <(unzip -p want.npz "$name") <(unzip -p looked-at.probe/*40.npz "$name")
    done
}

@test "the addresses of a model that is converted as it is used count where they are limited" {
    need_plain_build
    local settings model=(tg-train -m vast.gguf --lora 4 --context 128)
    tg-init -q -P baby-llama --n-layer 2 --n-ctx 128 --vocab-size 80000 -o vast.npz
    tg-convert -q vast.npz --dtype bf16 -o vast.gguf
    head -c 3000 "$ROOT/docs/data/alice.txt" | tg-tokenize -q -o alice.npz
    run -3 --separate-stderr bash -c 'ulimit -v 240000; exec "$@"' - "${model[@]}" -o new.npz -n 2 -b 32 alice.npz
    [[ $stderr = *" MiB of memory is available: with --batch "* ]]
    settings=$(sed -n 's/.* is available: with \(.*\), the run needs .*/\1/p' <<< "$stderr")
    # shellcheck disable=SC2086 # settings are words
    run -0 --separate-stderr bash -c 'ulimit -v 240000; exec "$@"' - "${model[@]}" -o new.npz -n 1 $settings alice.npz
    [[ $stderr != *" is available: "* ]]
    run -3 --separate-stderr bash -c 'ulimit -v 100000; exec "$@"' - "${model[@]}" -o other.npz -n 1 alice.npz
    said " bytes of address space for the model's converted weights, which a limit (ulimit -v) may not allow"
}

@test "all-linear is all matrices; -o - is the adapter on standard output, and nothing else is" {
    tg-train -q -m base.npz -o all.npz --lora 4 -n 6 c.npz
    tg-train -q -m base.npz -o linear.npz --lora 4 --lora-targets all-linear -n 6 c.npz
    cmp all.npz linear.npz
    run -0 --separate-stderr tg-train -m base.npz -o linear.npz --lora 4 --lora-targets all-linear -n 6 c.npz
    [[ $stderr == *"linear.npz is complete: 6 of 6 steps are done"* ]]
    run -2 --separate-stderr tg-train -m base.npz -o other.npz --lora 4 --lora-targets q_proj,all-linear c.npz
    said 'the model'"'"'s blocks have no matrix "all-linear", but self_attn.q_proj,'
    run_pipe 0 'tg-train -m base.npz -o - --lora 4 -n 6 --save-every 2 c.npz | cat > piped.npz'
    cmp all.npz piped.npz
}

@test "an adapter that has learned nothing changes no bit" {
    tg-train -q -m base.npz -o zero.npz --lora 4 -n 1 --lr 0 --min-lr 0 c.npz
    tg-eval -q -m base.npz -p 'Some text' --logits > a
    tg-eval -q -m base.npz --adapter zero.npz -p 'Some text' --logits > b
    cmp a b
    tg-eval -q -m base.npz --adapter 'adapter.npz*0' -p 'Some text' --logits > b
    cmp a b
    tg-eval -q -m base.npz --adapter adapter.npz -p 'Some text' --logits > b
    run ! cmp -s a b
}

@test "every tool takes it: as of the model that tg-convert has changed" {
    tg-convert -q base.npz --adapter adapter.npz -o changed.npz
    for tool in 'tg-eval -p Hello --per-token' 'tg-sample -p Hello -n 20' 'tg-attn-dump -p Hello -f tsv' \
        'tg-lens -p Hello -f tsv' 'tg-circuit -f tsv' 'tg-sample -p Hello -n 20 --precision int8' \
        'tg-patch -p Hello --corrupt Jello --answer a --wrong b -f tsv'; do
        $tool -q -m base.npz --adapter adapter.npz > got
        $tool -q -m changed.npz > want
        cmp got want
        $tool -q -m base.npz > other
        run ! cmp -s got other
    done
    for options in --summary '--trace 0,1,2,1' '--ablate all'; do
        # shellcheck disable=SC2086 # options are words
        tg-attn-dump -q -m base.npz --adapter adapter.npz -p Hello $options > got
        # shellcheck disable=SC2086 # options are words
        tg-attn-dump -q -m changed.npz -p Hello $options | cmp got -
    done
    # also by what reads layer by layer, or has another layout
    tg-convert -q base.npz --to hf -o base
    tg-eval -q -m base --adapter adapter.npz -p Hello --per-token > got
    tg-eval -q -m changed.npz -p Hello --per-token | cmp got -
    tg-convert -q base.npz --adapter adapter.npz --to gguf -o changed.gguf
    tg-eval -q -m changed.gguf -p Hello --per-token | cmp got -
}

@test "the attention as an adapter learns" {
    tg-train -q -m base.npz -o a.npz --lora 2 -n 4 --probe Hello --probe-every 2 c.npz
    [[ $(ls a.probe) = $'000000.npz\n000002.npz\n000004.npz' ]]
    tg-attn-dump --summary --dump a.probe/000004.npz -f tsv > got
    tg-attn-dump -q -m base.npz --adapter a.npz -p Hello --summary -f tsv > want
    cmp <(cut -f 1-12 got) <(cut -f 1-12 want) # without the tokens' texts
}

@test "several adapters add up, each with its weight" {
    tg-train -q -m base.npz -o other.npz --lora 2 --rslora --lora-alpha 3 -n 10 c.npz
    tg-eval -q -m base.npz --adapter adapter.npz --adapter other.npz -p Hello --per-token > a
    tg-convert -q base.npz --adapter adapter.npz -o one.npz
    tg-eval -q -m one.npz --adapter other.npz -p Hello --per-token > b
    paste a b | awk 'NR > 1 && NF > 0 { d = $3 - $(NF / 2 + 3); if (d < 0) d = -d; if (d > 1e-4) exit 1 }'
    awk -v a="$(loss_of -m base.npz --adapter 'adapter.npz*0.5' --adapter 'adapter.npz*0.5' -p Hello)" \
        -v b="$(loss_of -m base.npz --adapter adapter.npz -p Hello)" \
        -v c="$(loss_of -m base.npz --adapter 'adapter.npz*-1' -p Hello)" \
        'BEGIN { d = a - b; e = c - b; exit !(d < 1e-4 && d > -1e-4 && (e > 1e-3 || e < -1e-3)) }'
}

@test "the same bytes for any number of threads, from a model of any format, and after a stop" {
    slow_unless_sanitized
    local options=(--lora 4 -n 12 -b 2 -a 2 --eval-every 5)
    OMP_NUM_THREADS=1 tg-train -q -m base.npz "${options[@]}" -o a.npz c.npz
    tg-train -q -m base.npz "${options[@]}" --threads 3 -o b.npz c.npz
    cmp a.npz b.npz
    tg-convert -q base.npz --to hf -o base
    tg-train -q -m base "${options[@]}" -o b.npz --force c.npz
    cmp a.npz b.npz
    killed_after_save d.npz tg-train -q -m base.npz "${options[@]}" -o d.npz --save-every 3 c.npz
    run -0 --separate-stderr tg-train -m base.npz "${options[@]}" -o d.npz c.npz
    cmp a.npz d.npz
    # a complete run; and one that goes on
    run -0 --separate-stderr tg-train -m base.npz "${options[@]}" -o d.npz c.npz
    [[ $stderr == *"d.npz is complete: 12 of 12 steps are done; to continue: tg-train -m base.npz -o d.npz --lora 4 --steps 24 c.npz"* ]]
    cmp a.npz d.npz
    run -0 --separate-stderr tg-train -m base.npz --lora 4 -n 14 -o d.npz c.npz
    [[ $stderr == *"d.npz: resuming at step 12 of 14"* ]]
    tg-train -q -m base.npz "${options[@]}" -n 14 -o a.npz c.npz
    cmp a.npz d.npz
}

@test "a few short examples are as many steps, in a shorter context" {
    printf '{"prompt": "%s:", "completion": "%s"}\n' one eins two zwei three drei four vier five cinq six six > few.jsonl
    tg-tokenize -q -t bytes --prompt-completion few.jsonl > few.npz
    tg-init -q -P baby-llama --n-layer 1 --n-embd 16 --n-ctx 512 -o fresh.npz
    tg-train -q -m fresh.npz -o long.npz -n 1 -b 1 c.npz
    run -0 --separate-stderr tg-train -m long.npz --lora 2 -o few-adapter.npz few.npz
    [[ $stderr = *"chosen: --steps "*", --batch 1, --context 32, "* ]]
    steps=$(sed -n 's/.*chosen: --steps \([0-9]*\),.*/\1/p' <<< "$stderr")
    [[ $steps -ge 10 ]]
    # one that is given stays, and a longer example is not cut
    run -0 --separate-stderr tg-train -m long.npz --lora 2 -c 256 -o given.npz few.npz
    [[ $stderr != *"--context 32"* ]]
    { cat few.jsonl; printf '{"prompt": "%s:", "completion": "%s"}\n' "$(printf 'x%.0s' {1..60})" y; } > longer.jsonl
    tg-tokenize -q -t bytes --prompt-completion longer.jsonl > longer.npz
    run -0 --separate-stderr tg-train -m long.npz --lora 2 -o longer-adapter.npz longer.npz
    [[ $stderr = *"--context 64, "* && $stderr != *" cut"* ]]
    run -0 --separate-stderr tg-train -m long.npz --lora 2 -o validated.npz --val longer.npz few.npz
    [[ $stderr = *"--context 64, "* ]]
}

@test "activations that are computed again: the same adapter" {
    tg-train -q -m base.npz -o kept.npz --lora 4 -n 10 c.npz
    tg-train -q -m base.npz -o again.npz --lora 4 -n 10 --recompute c.npz
    cmp kept.npz again.npz
}

@test "a model in other types is the same; a context of 0 is the model's" {
    tg-convert -q base.npz --to hf --dtype bf16 -o halves
    tg-eval -q -m halves --adapter adapter.npz -p Hello > /dev/null
    tg-convert -q base.npz --to gguf --dtype f16 -o base.gguf
    tg-eval -q -m base.gguf --adapter adapter.npz -p Hello > /dev/null
    run -0 --separate-stderr tg-train -m base.npz -o a.npz --lora 2 -c 0 -n 2 c.npz
    run -0 --separate-stderr tg-train -m base.npz -o a.npz --lora 2 -c 0 -n 3 c.npz
    [[ $stderr != *"--context was"* ]]
}

@test "PEFT's directory: written, read with the same values, and trained further" {
    run -0 --separate-stderr tg-convert base.npz --adapter adapter.npz --to peft -o peft
    [[ ${stderr_lines[-1]} = "tg-convert: peft: peft in 2 files, $(tg-info adapter.npz | sed -n 's/^parameters  //p') parameters, "* ]]
    converted
    [[ $(ls peft) = $'adapter_config.json\nadapter_model.safetensors' ]]
    grep -q '"r": 4,' peft/adapter_config.json
    grep -q '"base_model_name_or_path": null,' peft/adapter_config.json
    grep -qx 'peft: adapter_config.json does not name the model, which was read from a file: --base NAME gives its directory, or its name on Hugging Face' <<< "${stderr#tg-convert: }"
    # a base that PEFT can read is named
    tg-convert -q base.npz --to hf -o 'the "base"'
    tg-convert -q 'the "base"' --adapter adapter.npz --to peft -o named
    grep -qF '"base_model_name_or_path": "the \"base\"",' named/adapter_config.json
    cmp peft/adapter_model.safetensors named/adapter_model.safetensors
    run -0 --separate-stderr tg-convert base.npz --adapter adapter.npz --to peft --base 'some/base"-1' -o based
    [[ $stderr != *adapter_config.json* ]]
    grep -qF '"base_model_name_or_path": "some/base\"-1",' based/adapter_config.json
    tg-info based | grep -q 'adapter/base some/base"-1'
    run -2 --separate-stderr tg-convert base.npz --adapter adapter.npz --to peft --base $'a\xff' -o no
    said 'tg-convert: --base must be UTF-8, as JSON is'
    run -2 --separate-stderr tg-convert base.npz --adapter adapter.npz --to hf --base a -o no
    said "tg-convert: --base is for --to peft: other formats do not name an adapter's model"
    grep -q '"target_modules": \["self_attn.q_proj", ' peft/adapter_config.json
    tg-info peft/adapter_model.safetensors | grep -q 'base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight'
    tg-eval -q -m base.npz --adapter adapter.npz -p Hello --per-token > a
    tg-eval -q -m base.npz --adapter peft -p Hello --per-token | cmp a -
    run -0 --separate-stderr tg-train -m base.npz --adapter peft -o more.npz -n 20 c.npz
    [[ $stderr == *"it begins with peft"* ]]
    awk -v a="$(loss_of -m base.npz --adapter adapter.npz c.npz)" \
        -v b="$(loss_of -m base.npz --adapter more.npz c.npz)" 'BEGIN { exit !(b < a) }'
    # the same command continues
    run -0 --separate-stderr tg-train -m base.npz --adapter peft -o more.npz -n 22 c.npz
    [[ $stderr == *"more.npz exists and is continued: peft is not read"* ]]
}

@test "tg-info of an adapter: an archive, PEFT's directory, one that is not computed, damaged ones" {
    tg-convert -q base.npz --adapter adapter.npz --to peft -o peft
    tg-info adapter.npz > archive.txt
    grep -q '^adapter.npz: adapter (an archive of tg), ' archive.txt
    tg-info peft > peft.txt
    grep -q "^peft: adapter (a directory of PEFT), .* in 2 files" peft.txt
    # R (in + out) parameters of each matrix, in 2 layers: 2 * 4 * (64 + 48 + 48 + 64 + 80 + 80 + 80)
    for shown in archive.txt peft.txt; do
        grep -qx 'parameters  3,712' $shown
        grep -qx 'adapter/rank 4' $shown
        grep -qx 'adapter/alpha 8' $shown
        grep -qx 'adapter/rank_stabilized 0' $shown
        grep -qx 'adapter/targets self_attn.q_proj,self_attn.k_proj,self_attn.v_proj,self_attn.o_proj,mlp.gate_proj,mlp.up_proj,mlp.down_proj' $shown
    done
    grep -q '^base_model.model.model.layers.1.mlp.up_proj.lora_B.weight  *f32  *\[48,4\] .* adapter_model.safetensors' peft.txt
    tg-info --check peft > /dev/null
    sed -i 's|"base_model_name_or_path": null|"base_model_name_or_path": "someone/model"|; s/"lora_alpha": 8/"lora_alpha": 0.5/' peft/adapter_config.json
    [[ $(tg-info -j peft) == *'"parameters":3712,'*'"adapter/rank":4,"adapter/alpha":0.5,'* ]]
    tg-info peft | grep -qx 'adapter/base someone/model'
    sed -i 's/LORA/IA3/' peft/adapter_config.json
    tg-info peft | grep -q '^note  *no adapter that tg computes: peft/adapter_config.json: "peft_type": "IA3", expected "LORA"'
    sed -i 's/"r": 4/"r" 4/' peft/adapter_config.json
    run -1 --separate-stderr tg-info peft
    said "tg-info: peft/adapter_config.json: line 5, "
    tg-convert -q base.npz --adapter adapter.npz --to peft --force -o peft
    truncate -s 9000 peft/adapter_model.safetensors
    run -1 --separate-stderr tg-info peft
    said "tg-info: peft/adapter_model.safetensors: "
    rm peft/adapter_model.safetensors
    run -3 --separate-stderr tg-info peft
    said "tg-info: peft/adapter_model.safetensors: No such file or directory"
}

@test "GPT-2's matrices have an adapter as well" {
    tg-init -q --n-layer 2 --n-head 2 --n-embd 16 --n-ctx 16 -o gpt2.npz
    tg-train -q -m gpt2.npz -o a.npz --lora 3 -n 10 c.npz
    tg-convert -q gpt2.npz --adapter a.npz --to peft -o peft
    tg-info peft/adapter_model.safetensors | grep -q 'base_model.model.transformer.h.1.mlp.c_proj.lora_B.weight'
    tg-eval -q -m gpt2.npz --adapter a.npz -p Hello > got
    tg-eval -q -m gpt2.npz --adapter peft -p Hello | cmp got -
}

@test "a pipe in a directory of PEFT's is not waited for" {
    tg-convert -q base.npz --adapter adapter.npz --to peft -o pipes
    for name in adapter_config.json adapter_model.safetensors; do
        mv pipes/$name kept
        mkfifo pipes/$name
        run -1 --separate-stderr tg-info pipes
        said "pipes/$name: not a regular file"
        run -1 --separate-stderr tg-eval -m base.npz --adapter pipes -p Hello
        [[ ${stderr_lines[-1]} = *"pipes/$name: not a regular file" ]]
        mv kept pipes/$name
    done
}

@test "an adapter of another model" {
    tg-train -q -m untrained.npz -o second.npz -n 5 t.npz
    run -1 --separate-stderr tg-eval -m second.npz --adapter adapter.npz -p Hello
    said "tg-eval: adapter.npz: an adapter of another model: the CRC-32 of its norms is "
    # untrained models have the same norms, but other embeddings
    tg-init -q -P baby-llama --n-layer 2 --n-embd 32 --n-inner 48 --head-dim 8 --n-ctx 32 --seed 7 -o seventh.npz
    tg-train -q -m untrained.npz -o first.npz --lora 2 -n 2 c.npz
    tg-eval -q -m untrained.npz --adapter first.npz -p Hello
    run -1 --separate-stderr tg-eval -m seventh.npz --adapter first.npz -p Hello
    said "tg-eval: first.npz: an adapter of another model, or of one with another vocabulary: the embeddings here differ from its by 1."
    cp first.npz before.npz
    run -1 --separate-stderr tg-train -m seventh.npz -o first.npz --lora 2 -n 4 c.npz
    said "first.npz: an adapter of another model, or of one with another vocabulary"
    cmp first.npz before.npz
    tg-init -q -P baby-llama --n-layer 1 --n-embd 32 --n-inner 48 --head-dim 8 --n-ctx 32 -o short.npz
    tg-convert -q base.npz --adapter adapter.npz --to peft -o peft
    run -1 --separate-stderr tg-eval -m short.npz --adapter peft -p Hello
    said "peft/adapter_model.safetensors: base_model.model.model.layers.1.self_attn.q_proj.lora_A.weight belongs to no matrix of this model's blocks"
    tg-init -q -P baby-llama --n-layer 2 --n-embd 40 --n-inner 48 --head-dim 8 --n-ctx 32 -o wide.npz
    run -1 --separate-stderr tg-eval -m wide.npz --adapter peft -p Hello
    said "peft/adapter_model.safetensors: base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight has 128 elements, expected [4,40]"
}

@test "an older adapter, which has no embeddings of its model" {
    slow_unless_sanitized
    need python3
    local copy='
import sys, zipfile
old = zipfile.ZipFile(sys.argv[2], "w")
with zipfile.ZipFile(sys.argv[1]) as new:
    for entry in new.infolist():
        if entry.filename != "adapter/base_embeddings.npy":
            old.writestr(entry.filename, new.read(entry))
old.close()'
    python3 -c "$copy" adapter.npz old.npz
    [[ $(tg-info old.npz) != *base_embeddings* ]]
    tg-info adapter.npz | grep -q '^adapter/base_embeddings .*\[8,16\]'
    [[ $(loss_of -m base.npz --adapter old.npz c.npz) = $(loss_of -m base.npz --adapter adapter.npz c.npz) ]]
    # continued, it has them
    tg-train -q -m base.npz -o adapter.npz --lora 4 -n 44 c.npz
    tg-train -q -m base.npz -o old.npz --lora 4 -n 44 c.npz
    cmp old.npz adapter.npz
}

@test "files that are no adapters, and adapters that are not computed" {
    run -1 --separate-stderr tg-eval -m base.npz --adapter base.npz -p Hello
    said 'tg-eval: base.npz: the archive has kind "model", expected "adapter"'
    run -1 --separate-stderr tg-eval -m adapter.npz -p Hello
    said 'tg-eval: adapter.npz: the archive has kind "adapter", expected "model": name it with --adapter, and its model with -m'
    run -3 --separate-stderr tg-eval -m base.npz --adapter none.npz -p Hello
    said 'tg-eval: none.npz: No such file or directory'
    mkdir empty
    run -3 --separate-stderr tg-eval -m base.npz --adapter empty -p Hello
    said 'tg-eval: empty/adapter_config.json: No such file or directory'
    tg-convert -q base.npz --adapter adapter.npz --to peft -o peft
    while IFS='|' read -r change message; do
        rm -rf changed
        cp -r peft changed
        sed -i "$change" changed/adapter_config.json
        run -1 --separate-stderr tg-eval -m base.npz --adapter changed -p Hello
        said "$message"
    done << 'END'
s/LORA/IA3/|"peft_type": "IA3", expected "LORA"
s/"bias": "none"/"bias": "all"/|"bias": "all", expected "none"
s/"r": 4,/"r": 4, "use_dora": true,/|"use_dora": not supported
s/"r": 4,/"r": 4, "rank_pattern": {"q": 1},/|"rank_pattern": not supported
s/"r": 4,/"r": 3,/|layers.0.self_attn.q_proj.lora_A.weight has 128 elements, expected [3,32]
s/"r": 4,/"r": 0,/|a rank of 0, expected 1 to 4096
s/"lora_alpha": 8/"lora_alpha": -8/|an alpha of -8, expected 0 to 1e+06
s/"r": 4,/"r": 4, "init_lora_weights": "pissa_niter_4",/|"init_lora_weights": "pissa" also changes the model
s/"r": 4,/"r": /|changed/adapter_config.json: line 6
END
    head -c 3000 adapter.npz > cut.npz
    run -1 --separate-stderr tg-eval -m base.npz --adapter cut.npz -p Hello
    said "truncated"
}

@test "options that do not go together; nothing is written" {
    local -A wrong=(
        ["-m base.npz --lora 4"]="the model is not changed: name the adapter's file with -o FILE"
        ["-m base.npz --lora 4 -o base.npz"]="base.npz"
        ["-m base.npz --lora-alpha 4 -o new.npz"]="--lora-alpha goes with --lora"
        ["-m base.npz --rslora -o new.npz"]="--rslora goes with --lora"
        ["-m base.npz --lora-targets q_proj -o new.npz"]="--lora-targets goes with --lora"
        ["-m base.npz --lora 4 --adapter adapter.npz -o new.npz"]="--adapter begins with an adapter that is there, --lora with a new one"
        ["-m base.npz --adapter adapter.npz*2 -o new.npz"]="--adapter is given once, and without a weight"
        ["-m base.npz --lora 4 --lora-targets w_proj -o new.npz"]='the model'"'"'s blocks have no matrix "w_proj", but self_attn.q_proj,'
        ["-m base.npz --lora 4 --optimizer muon -o new.npz"]="optimizer muon is for whole matrices"
        ["-m base.npz --lora 8 -n 50 -o adapter.npz"]="adapter.npz: an adapter of rank 4 and alpha 8, which a run cannot change"
        ["-m base.npz -n 50 -o adapter.npz"]="adapter.npz: an adapter: the model that it is for is named with -m, and --lora says that it is continued"
        ["-m none.npz --lora 4 -o new.npz"]="none.npz: No such file or directory"
    )
    local before
    before=$(sha256sum base.npz adapter.npz)
    for options in "${!wrong[@]}"; do
        # shellcheck disable=SC2086 # options are words
        run --separate-stderr tg-train $options c.npz
        [[ $status = [123] ]] || { echo "$options: $status"; return 1; }
        [[ $stderr == *"${wrong[$options]}"* ]] || { echo "$options: $stderr"; return 1; }
        [[ ! -e new.npz ]]
    done
    # that a run is continued is not said of one that is refused
    run -2 --separate-stderr tg-train -m base.npz -n 50 -o adapter.npz c.npz
    [[ $stderr = "tg-train: adapter.npz: an adapter: "* && $stderr != *$'\n'* ]]
    [[ $(sha256sum base.npz adapter.npz) = "$before" ]]
    run -2 --separate-stderr tg-convert base.npz --to peft -o peft
    said "PEFT's directory has one adapter: name it with --adapter"
    run -2 --separate-stderr tg-convert c.npz --adapter adapter.npz -o tokens.npz
    said "c.npz: not a model, which --adapter is for"
    run -2 --separate-stderr tg-init -o adapter.npz
    said "adapter.npz: a trained adapter; --force replaces it"
    [[ $(sha256sum base.npz adapter.npz) = "$before" ]]
}
