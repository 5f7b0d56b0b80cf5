# Data races where a model is used, as the thread sanitizer sees them: `make tsan`.  Each command runs with 2 and with
# 4 threads.

load helper
load races

@test "dumping: lines, archives, summaries, derivations" {
    races tg-attn-dump -m model.npz -p 'To be, or not to be'
    races tg-attn-dump -m model.npz -p 'To be, or not to be' -o -
    races tg-attn-dump -m model.npz -p 'To be, or not to be' --summary
    races tg-attn-dump -m model.npz -p 'To be, or not to be' --ablate all
    races tg-attn-dump -m model.npz -p 'To be, or not to be' --trace 0,1,5,3 --backward --target '!'
}

@test "sampling and evaluating: several texts, bf16, int8, a long prompt" {
    races tg-sample -m model.npz -p To -n 20
    races tg-sample -m model.npz -p To -n 20 --count 5 --precision bf16
    races tg-sample -m model.npz -p To -n 20 --count 5 --precision int8
    races tg-sample -m model.npz -p "$(head -c 100 text)" -n 5
    races tg-eval -m model.npz text
    races tg-eval -m model.npz --logits text
    races tg-lens -m model.npz -p 'To be, or not to be'
    races tg-lens -m model.npz -p 'To be, or not to be' --attribute e --keys --neurons 2
}
