// The page's own words, in English or Chinese.  Query, key and token stay as the guides have them.

const CHINESE = {
    // the head of the page
    "dump": "转储", "layer": "层", "head": "头", "show": "显示", "probabilities": "概率", "scores": "分数",
    "difference from the first": "与第一个转储之差", "difference from head {0}": "与头 {0} 之差", "compare": "比较",
    "compare the other heads with this one (c)": "把别的头与这个头比较 (c)", "compare the other heads with this one, or no longer": "把别的头与这个头比较，或不再比较",
    "in head {0}": "头 {0} 中", "the map": "图中", "Choose a head to compare with {0}": "选一个头与 {0} 比较", "Head {0} − head {1}": "头 {0} − 头 {1}", "colours": "颜色", "each head's own": "每个头各自的范围",
    "square root": "平方根", "linear": "线性", "logarithmic": "对数", "all": "全部", "dark": "深色", "light": "浅色",
    "shortcuts ?": "快捷键 ?", "Attention": "注意力", "Attention: {0}": "注意力：{0}", "{0} to {1}": "{0} 到 {1}", "show more tokens (-)": "显示更多 token (-)", "show fewer tokens (+)": "显示更少 token (+)",
    "show all tokens (0)": "显示全部 token (0)", "light or dark (d)": "浅色或深色 (d)", "shortcuts (?)": "快捷键 (?)",
    "What is shown": "显示什么", "Zoom": "缩放", "{0} of {1}: {2}": "第 {0} 个，共 {1} 个：{2}",
    "{0} tokens, {1} layers of {2} heads, ": "{0} 个 token，{1} 层，每层 {2} 个头，",
    "KV = {0} heads of keys, ": "KV = {0} 个 key 头，", ", B = {0}, of which b = {1}": "，B = {0}，这里是 b = {1}",
    "; q is stored as {0}, k as {1}": "；q 按 {0} 存放，k 按 {1} 存放", "; q and k are stored as {0}": "；q 与 k 按 {0} 存放",
    // the heads
    "Heads": "注意力头", "Layers down, heads across.": "从上到下是层，从左到右是头。", "Sorted by: {0}.": "按“{0}”排列。",
    "Means over the queries after the first. Click a column’s title to sort.": "对第一个以后的 query 取平均。点列名排序。",
    "hide heads whose number is below": "隐藏数值小于此数的头：", "hide heads whose “{0}” is below": "隐藏“{0}”小于此数的头：", "the map shows": "图中显示", "one head": "一个头", "the mean of the heads above": "上面各头的平均", "their maximum": "各头的最大值",
    "Mean of {0} heads": "{0} 个头的平均", "Maximum of {0} heads": "{0} 个头的最大值", "in the column that sorts": "按排序列",
    "dist": "距离", "diag": "自己", "prev": "前一个", "first": "第一个", "induct": "归纳", "dupl": "重复", "Δloss": "Δ损失", "change in loss": "损失的变化",
    "of the text, in nats a token, without the head: above 0 where it helps": "去掉这个头后文本损失的变化，单位 nat/token：大于 0 表示它有用", "duplicate": "重复", "p at earlier copies of token i, of queries that have one": "token i 先前出现处的 p，只计有这种 key 的 query",
    "entropy": "熵", "distance": "距离", "to itself": "看自己", "to the token before": "看前一个 token",
    "to the first token": "看第一个 token", "induction": "归纳", "layer {0}, head {1}": "第 {0} 层，头 {1}",
    ", key head {0}": "，key 头 {0}",
    "−Σ p ln p, in nats: 0 if one key has all of p": "−Σ p ln p，单位 nat：p 全部在一个 key 上时为 0",
    "Σ p (i − j), in tokens": "Σ p (i − j)，单位 token", "p at j = i": "j = i 处的 p", "p at j = i − 1": "j = i − 1 处的 p",
    "p at j = 0": "j = 0 处的 p", "p at keys after an earlier copy of token i, of queries that have one": "token i 先前出现处之后的 key 上的 p，只计有这种 key 的 query",
    // the map
    "One head": "一个头", "Layer {0}, head {1}": "第 {0} 层，头 {1}", ", window {0}: ": "，窗口 {0}：", ": ": "：",
    " ({0} of {1} tokens)": "（{1} 个 token 中的 {0} 个）", "differences": "差",
    "probability": "概率", "score": "分数", "difference of probabilities": "概率之差", "masked": "被掩码",
    "key →": "key →", "query ↓": "query ↓",
    "attention of layer {0}, head {1}: {2} of {3} queries by {3} keys":
        "第 {0} 层头 {1} 的注意力：{3} 个 query 对 {3} 个 key 的{2}",
    "colours: {0} from {1} to {2}; hatched: masked": "颜色：{0}，从 {1} 到 {2}；斜线：被掩码",
    "query {0}, key {1}": "query {0}，key {1}", "score {0}, probability {1}": "分数 {0}，概率 {1}", "{0} at {1}": "{0}（{1}）",
    "{0}: {1}": "{0}：{1}", ", part of {0}": "，是 {0} 的一部分", " and ": "与",
    // the panel
    "The chosen cell": "选中的格子", "What the panel shows": "面板显示什么", "cell": "格子", "trace": "跟踪",
    "where the query looks": "query 看哪里", "what it takes from each key": "从每个 key 取得什么", "chosen": "选中的",
    "click another cell": "点击可选别的格子", "here": "指针处", "copy": "复制", "Copy": "复制", "value": "数值", "row": "整行",
    "command": "命令", "link": "链接", "the number that is shown": "显示的数",
    "the query's row, as tg-attn-dump -f tsv prints it": "这个 query 的一行，与 tg-attn-dump -f tsv 打印的一样",
    "the command that derives this score": "推导这个分数的命令", "the address of this view": "当前视图的地址",
    "{0} copied": "已复制{0}", " ({0}: your file)": "（{0}：你的文件）",
    "layer, head": "层、头", "key head": "key 头", "offset": "偏移", "mask": "掩码", "in the first": "第一个转储中",
    "difference": "差", "side by side": "并排", "both, and their difference (b)": "两个头，以及它们的差 (b)",
    "two heads side by side, with their difference, or one": "并排显示两个头和它们的差，或只显示一个", "Heads {0} and {1}": "头 {0} 与头 {1}",
    "{0}: {1} of {2}, of {3}, and their difference: {4} queries by {4} keys": "{0}：{2} 与 {3} 的{1}，以及它们的差：{4} 个 query 乘 {4} 个 key", "of {0} from it": "{0} 减去它", ", rounded down": "，向下取整",
    "means “not looked at”": "表示“不看”", "this layer has no window": "这一层没有窗口",
    "hidden by the window of {0} keys": "在 {0} 个 key 的窗口之外", "after the window of {0} keys": "在 {0} 个 key 的窗口之后",
    "in the window of {0} keys": "在 {0} 个 key 的窗口之内",
    "Trace": "跟踪", "in double precision; what is stored is float32": "以双精度计算；存放的是 float32",
    "sum": "和", "scale": "缩放", "cap": "软上限", "max": "最大值", "exponential": "指数", "their sum": "指数之和",
    "{0}, a setting of the model": "{0}，模型自己的设定", "not computed: {0}": "没有计算：{0}",
    "masked, {0}": "被掩码，{0}", "hidden, {0}": "在窗口之外，{0}", "of the row: {0}, at key {1}": "本行的：{0}，在 key {1}",
    "over j = {0} to {1}: {2}": "j 从 {0} 到 {1}：{2}",
    "Query {0}: {1} keys, the most probable first": "query {0}：{1} 个 key，概率大的在前",
    "Query {0}: {1} key": "query {0}：{1} 个 key", "probability p": "概率 p", "Weighted sum": "加权和", "channel": "通道", "in double precision": "以双精度计算",
    "Product terms": "各个乘积", "Parts of the weighted sum": "加权和的各个部分",
    // before q and k, and after the weighted sum
    "rotation": "旋转", "how q and k were made": "q 与 k 怎样得来", "out": "输出", "what the heads make together": "各个头合起来的结果",
    "residual": "残差", "what that is added to": "结果加到哪里", "logits": "logits", "what the model predicts": "模型预测什么",
    "gradient": "梯度", "gradients": "梯度", "how a loss depends on the score": "损失怎样随分数变化", "of the loss of the target": "目标 token 的损失的梯度",
    "Rotation": "旋转", "of": "对象", "q of the query": "query 的 q", "k of the key": "key 的 k", "Channels before and after": "旋转前后的通道",
    "angle": "角度", "at": "位置", "made": "结果", "proj": "投影后", "normed": "归一化后",
    "rotate": "旋转", "by {0} · frequency": "转 {0} · 频率", "not rotated": "不旋转",
    "{0} is {1} divided by its root mean square, times a gain. ": "{0} 是 {1} 除以自己的均方根，再乘增益。",
    "This layer does not rotate: {0} is {1}.": "这一层不旋转：{0} 就是 {1}。",
    "Position {0}. For m < {1}: {2}[m] = {3}[m]·cos - {3}[m+{1}]·sin, {2}[m+{1}] = {3}[m+{1}]·cos + {3}[m]·sin":
        "位置 {0}。m < {1} 时：{2}[m] = {3}[m]·cos - {3}[m+{1}]·sin，{2}[m+{1}] = {3}[m+{1}]·cos + {3}[m]·sin",
    "; the others stay as they are.": "；其余通道不变。",
    "q and k are turned, pair by pair of channels, by angles that grow with the position: q·k then depends on how far apart the two are.":
        "q 与 k 的通道两两旋转，角度随位置增大：于是 q·k 取决于两者相距多远。",
    "This layer does not rotate q and k: its scores do not depend on positions.": "这一层不旋转 q 与 k：它的分数与位置无关。",
    "Projection": "输出投影", "projection": "投影", "Products of the projection": "投影的各个乘积", "head.d": "头.d", "att at": "att 的位置", "w at": "w 的位置",
    "; of head {0}: {1}": "；其中头 {0}：{1}", "head {0}, then all": "头 {0}，然后全部",
    "The sums of all heads, one after another, are multiplied with one matrix: out. Head {0} has {1} rows of it.":
        "所有头的和依次排成一行，乘以同一个矩阵，得到 out。其中 {1} 行属于头 {0}。",
    "Residual stream": "残差流", "Channels of the residual stream": "残差流的通道", "after": "之后",
    "In this model out is normed before it is added.": "这个模型先把 out 归一化再加上。",
    "The stream goes on as resid + out; the MLP adds its part to it, and the next layer begins with the sum.":
        "残差流变成 resid + out；MLP 再加上自己的部分，下一层从这个和开始。",
    "What attention made (the second strip) is added to the residual stream (the first), which each part of the model reads, and adds to.":
        "注意力的结果（第二条）加到残差流（第一条）上；模型的每个部分都从残差流读取，再加回去。",
    "Logits": "logits", "The most probable tokens": "概率最大的 token", "rank": "名次", "token": "token", "logit at": "logit 的位置",
    "After query {0}: the {1} largest of {2} logits": "query {0} 之后：{2} 个 logit 中最大的 {1} 个",
    "; the text goes on with {0}.": "；文本接下来是 {0}。",
    "After the last layer, each token of the vocabulary has a logit: softmax makes them the probabilities of what follows query {0}.":
        "最后一层之后，词表的每个 token 有一个 logit：softmax 把它们变成 query {0} 后面是什么的概率。",
    "Gradient": "梯度", "Gradients of the query's scores": "这个 query 各分数的梯度", "score at": "分数的位置",
    "The loss is att.data[{0}], channel {1} of the weighted sum.": "损失取 att.data[{0}]，即加权和的通道 {1}。",
    "The loss is that of predicting token {0} after the text: {1}.": "损失是在文本之后预测 token {0} 的损失：{1}。",
    "Σ p·dp = {0}; ": "Σ p·dp = {0}；",
    " This query does not reach it: in the last layer only the last query, {0}, does.": "这个 query 影响不到它：在最后一层，只有最后一个 query {0} 能。",
    "The stream goes on as resid + out; the MLP adds its part to it, and the logits are made of the sum.":
        "残差流变成 resid + out；MLP 再加上自己的部分，logits 就从这个和算出。",
    "How channel {0} of the weighted sum changes with each score: p·(dp - Σ p·dp), with dp its change with p.":
        "加权和的通道 {0} 怎样随每个分数变化：p·(dp - Σ p·dp)，dp 是它随 p 的变化。",
    "How the loss of predicting token {0} changes with each score: p·(dp - Σ p·dp), with dp its change with p.":
        "预测 token {0} 的损失怎样随每个分数变化：p·(dp - Σ p·dp)，dp 是它随 p 的变化。",
    // to learn
    "numbers": "数值", "change q, k and v": "改动 q、k、v", "Numbers": "数值", "quiz": "测验", "Quiz": "测验",
    "change one: all that follows from it changes": "改动一个数，由它得出的一切随之改变", "as in the dump": "恢复转储中的数",
    "check": "检查", "how": "怎么算", "next": "下一题", "Right: {0}.": "对：{0}。", "Not {0}.": "不是 {0}。",
    " {0} of {1} right.": " 答对 {0} 题，共 {1} 题。", "Two decimals at least.": "至少写两位小数。", "{0} is not a number.": "{0} 不是数。",
    "{0} has groups of thousands: write the digits without separators.": "{0} 有千位分隔符：请只写数字。",
    "Scores, probabilities and att are those of query {0}.": "分数、概率与 att 都是 query {0} 的。",
    "Where in scores.data is score [{0},{1},{2},{3}] of layer {4}?": "第 {4} 层的分数 [{0},{1},{2},{3}] 在 scores.data 的哪里？",
    "Where in q.data does the vector of query {0} begin, in head {1}?": "头 {1} 中 query {0} 的向量从 q.data 的哪里开始？",
    "Query {0} has q = ({1}), and key {2} has k = ({3}). What is the score?":
        "query {0} 的 q = ({1})，key {2} 的 k = ({3})。分数是多少？",
    "Query {0} has the scores {1}. What is the probability of key {2}?": "query {0} 的各个分数是 {1}。key {2} 的概率是多少？",
    // the text and the steps
    "Text": "文本", "where query": "query", "looks": "看哪里", "who looks at key": "谁在看 key",
    "How the numbers are made, step by step": "这些数怎样一步一步得来", "step": "下一步", "next step (.)": "下一步 (.)",
    "scale, cap": "缩放、软上限", "softmax": "softmax", "not computed": "没有计算", "Σ of {0} products": "{0} 个乘积之和",
    "capped at {0}": "软上限 {0}", "seen": "看得见", "key {0}, then all": "key {0}，然后全部",
    "Query {0} has a vector q, and key {1} a vector k, of {2} numbers each in this head.":
        "在这个头里，query {0} 有向量 q，key {1} 有向量 k，各有 {2} 个数。",
    "Their products are added: the sum is large when q and k have large numbers of the same sign in the same places.":
        "逐个相乘再相加：q 与 k 在相同位置上的数同号且绝对值大时，和就大。",
    "The model’s own factor takes the place of 1/√D.": "这里用模型自己的系数代替 1/√D。",
    "The model’s own factor takes the place of 1/√D, and a cap keeps the result between -cap and cap.":
        "这里用模型自己的系数代替 1/√D，再用软上限限制结果。",
    "Divided by √D = √{0}, so that scores of many channels are not larger than those of few.":
        "除以 √D = √{0}，分数就不会因为通道多而变大。",
    "Divided by √D = √{0}, so that scores of many channels are not larger than those of few, and a cap keeps the result between -cap and cap.":
        "除以 √D = √{0}，分数就不会因为通道多而变大；再用软上限限制结果。",
    "A query looks at itself and at keys before it, not at those after it.": "query 看自己和它前面的 key，不看后面的。",
    "A query looks at itself and at keys before it, not at those after it; a window of {0} hides the others in this layer.":
        "query 看自己和它前面的 key，不看后面的；这一层的窗口是 {0}，更早的也看不到。",
    "The scores of query {0} become shares of 1: each exp(score - max), divided by the sum of these exponentials.":
        "query {0} 的各个分数变成总和为 1 的份额：每个 exp(分数 - 最大值) 除以它们的总和。",
    "Each key’s v is multiplied by its share, and all are added: what this head gives to query {0}, before the output projection.":
        "每个 key 的 v 乘以它的份额，再全部相加：这就是这个头交给 query {0} 的结果，之后才是输出投影。",
    // predictions, parts and patches
    "lens": "透镜", "parts": "组成", "patching": "替换", "what each layer predicts": "每一层预测什么", "what makes the logit": "logit 由什么组成",
    "what patching changes": "激活替换改变什么", "What each layer predicts": "每一层预测什么", "What makes the logit": "logit 由什么组成",
    "What patching changes": "激活替换改变什么", "probability of the target": "目标的概率", "rank of the target": "目标的名次",
    "probability of the first token": "第一名的概率", "divergence from the last layer": "与最后一层的散度",
    "What the model would predict if it ended after so many layers. The last layer is on top, the embedding at the bottom.":
        "假如模型在这么多层之后结束，它会预测什么。最后一层在最上面，嵌入在最下面。",
    "colours: {0} from {1} to {2}": "颜色：{0}，从 {1} 到 {2}", "after {0} layers": "{0} 层之后", ", ": "，", "; ": "；",
    "{0}, position {1}: entropy {2}, divergence {3} nats": "{0}，位置 {1}：熵 {2}，散度 {3} nat",
    "; target {0}: rank {1}, probability {2}, logit {3}": "；目标 {0}：名次 {1}，概率 {2}，logit {3}",
    "head {0}": "头 {0}", "{0} of layer {1}": "第 {1} 层的{0}", "MLP": "MLP", "bias": "偏置", "logit of {0}": "{0} 的 logit",
    "logit of {0} less that of {1}": "{0} 的 logit 减去 {1} 的 logit", "After position {0}, the {1} is {2}.": "位置 {0} 之后，{1} 是 {2}。",
    "It is the sum of what each part of the model wrote to it. Layers down, heads across; a click leads to the head’s map.":
        "它是模型各部分写入它的数之和。从上到下是层，从左到右是头；点击可到这个头的图。",
    "part of the logit": "logit 的一部分", "parts of the logit": "logit 的各部分", "wrote": "写入", "what it wrote to the logit": "它写入 logit 的数",
    "to the {0}": "写入{0}", ", wrote {0}": "，写入 {0}", "The sum of all parts": "各部分之和",
    "embedding": "嵌入", "position": "位置", "all heads": "所有头", "all MLPs": "所有 MLP", "biases of layers": "各层的偏置", "last norm’s bias": "末端归一化的偏置",
    "output head’s bias": "输出头的偏置", "residue": "余量", "logit": "logit", "after the cap": "软上限之后",
    "residual stream": "残差流", "weighted sum": "加权和", "attention’s output": "注意力的输出", "MLP’s output": "MLP 的输出",
    "difference of logits": "logit 之差", "probability of the answer": "答案的概率", "loss of the answer": "答案的损失",
    "divergence from the clean run": "与干净的运行的散度", "{0} of head {1}": "头 {1} 的{0}", "all positions": "所有位置",
    "position {0}": "位置 {0}", "effect": "效果", "effect {0}, {1} {2}": "效果 {0}，{1} {2}",
    "Each cell is a run of the corrupt prompt with one activation of the clean run. ": "每个格子是一次破坏过的提示的运行，其中一个激活取自干净的运行。",
    "Each cell is a run of the clean prompt with one activation of the corrupt run. ": "每个格子是一次干净的提示的运行，其中一个激活取自破坏过的运行。",
    "Effect 1: the {0} is that of the clean run, {1}; 0: that of the corrupt run, {2}.": "效果 1：{0}与干净的运行相同，为 {1}；效果 0：与破坏过的运行相同，为 {2}。",
    "{0} ({1})": "{0}（{1}）", "{0} ({1} less {2})": "{0}（{1} 减去 {2}）",
    " The paper’s colour: nothing has changed.": "底色表示什么也没变。", " Estimated from one gradient.": "由一次梯度估计。", " Means of {0} pairs of prompts; the tokens are the first pair’s.": "是 {0} 对提示的平均；token 是第一对的。",
    "Layers down.": "从上到下是层。", "Results": "结果", "Results: {0}": "结果：{0}", "Lens": "透镜", "Lens: {0}": "透镜：{0}", "Ablation": "消融", "Ablation: {0}": "消融：{0}",
    "ablation": "消融", "what the model needs": "模型需要什么", "What the model needs": "模型需要什么", "change of the faithfulness": "忠实度的变化", "faithfulness": "忠实度", "metric": "指标", "change": "变化", "without": "去掉",
    "zeros take its place.": "用零代替它。", "the mean of what it gives on the corrupt prompts takes its place.": "用它在破坏过的提示上的平均代替它。", "what it gives in the corrupt run takes its place.": "用破坏过的运行中的它代替它。",
    "not left out by itself": "没有单独去掉", "{0} {1}, faithfulness {2}, change {3}": "{0} {1}，忠实度 {2}，变化 {3}", "Heads and MLPs by change": "按变化排列的头与 MLP",
    "Each cell is a run without one head or MLP: {0}": "每个格子是一次去掉一个头或 MLP 的运行：{0}",
    "Each cell is a run of a circuit of {0} members without one of them: {1}": "每个格子是一次由 {0} 个成员组成的回路去掉其中一个的运行：{1}",
    " Faithfulness 1: the {0} is that of the model, {1}; 0: that without any head or MLP, {2}.": "忠实度 1：{0}与整个模型相同，为 {1}；0：与去掉所有头和 MLP 时相同，为 {2}。",
    " The circuit itself: {0}, faithfulness {1}.": "回路本身：{0}，忠实度 {1}。",
    "Layers down, heads across; a click leads to the head’s map.": "从上到下是层，从左到右是头；点击可到这个头的图。", "A click leads to the layer’s map.": "点击可到这一层的图。", " Means of {0} pairs of prompts.": "是 {0} 对提示的平均。", "Patching": "激活替换", "Patching: {0}": "激活替换：{0}",
    "{0} layers": "{0} 层", "{0} layer": "{0} 层",
    "Layers down; a click leads to the map.": "从上到下是层；点击可到图。",
    // the list of keys
    "They act where all parts of the page are in view, except in fields; on a page that scrolls, while the map has the focus.":
        "整页都在窗口内时，除了在输入框里，快捷键都有效；页面可滚动时，只在焦点位于图上时有效。",
    "arrows": "方向键", "close": "关闭", "Keyboard shortcuts": "快捷键",
    "move the cell; with Shift, ten at a time": "移动格子；按住 Shift 一次十格",
    "the first key; the last that is not masked": "第一个 key；最后一个没被掩码的 key",
    "previous head, next head": "上一个头，下一个头", "previous layer, next layer": "上一层，下一层",
    "show fewer tokens, more, all; so does the wheel, or two fingers; drag to move":
        "显示更少、更多、全部 token；滚轮或两指也可以；拖动可移动",
    "probabilities, scores and, where there are any, differences, gradients and parts of a logit": "概率、分数，以及（如果有）差、梯度与 logit 的组成",
    "previous dump, next dump": "上一个转储，下一个转储", "colour the text by the query, or by the key": "按 query 或按 key 给文本着色",
    "previous step, next step": "上一步，下一步", "light or dark": "浅色或深色", "large": "大字", "large letters": "大字",
    "large letters, for a projector (l)": "大字，用于投影 (l)", "Move the cell": "移动格子", "previous key": "上一个 key",
    "next key": "下一个 key", "previous query": "上一个 query", "next query": "下一个 query", "this list": "这个列表", "attention map": "注意力图", "q at": "q 的位置", "k at": "k 的位置", "v at": "v 的位置",
    "Point at a cell to see its numbers under the map and beside those of the chosen cell, or at a word to see its row or its column. A click chooses the cell: the panel shows it, and the buttons copy it.":
        "指针移到某个格子，图的下方和选中格子的旁边就显示它的数；移到某个词，就显示它的一行或一列。点击选中格子：面板显示它，按钮复制它。",
    "Hatched cells are masked": "画斜线的格子被掩码", ", or hidden by the layer’s window": "，或在本层窗口之外",
    ". A number that two decimals would round to 0 is left out. Where there are more tokens than pixels, a pixel shows the greatest of its cells; of differences and gradients, the one furthest from 0.":
        "。两位小数会舍成 0 的数不写出。token 比像素多时，一个像素显示其中最大的数；若是差或梯度，则取离 0 最远的。",
    "“Each head’s own” scale ends at a value that the greatest probability of one row in ten exceeds, or at 1 if that is above 0.9; the others end at 1, so that heads can be compared. Scores diverge around 0, as far as the head’s largest score, whatever its sign. A character made of several tokens stands above them, in the colour of the greatest. Two heads side by side have one scale, which ends where the greater of their own does, and their difference has another.":
        "“每个头各自的范围”止于这样一个值：每十行中有一行的最大概率超过它；若它大于 0.9，则止于 1。其余范围都止于 1，便于比较各个头。分数以 0 为中心，两侧都到本头绝对值最大的分数为止。由几个 token 组成的字符写在它们上方，取其中最大者的颜色。并排的两个头用同一个范围，止于两者各自范围中较大的一个；它们的差用另一个范围。",
    "The page’s address keeps the view.": "网页的地址保存当前视图。"
};

let language = "en";

// A text of the page's own, with its parts put in for {0}, {1} and so on.
const say = (text, ...parts) => (language === "zh" && CHINESE[text] || text)
    .replace(/\{(\d)\}/g, (_, n) => parts[n]);

// What stands in page.html: texts, titles and names, each as it is there, and how to replace it; not the dump's text,
// whose tokens may be the same words.
const stated = [];
const oneLine = (text) => text.trim().replace(/\s+/g, " ");

function findStated() {
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    while (walk.nextNode()) {
        const node = walk.currentNode;
        if (byId("text").contains(node))
            continue;
        if (node.nodeType === Node.TEXT_NODE && Object.hasOwn(CHINESE, oneLine(node.data)))
            stated.push([node.data, (text) => { node.data = text; }]);
        for (const name of node.nodeType === Node.ELEMENT_NODE ? ["title", "aria-label", "aria-roledescription"] : [])
            if (Object.hasOwn(CHINESE, node.getAttribute(name) ?? ""))
                stated.push([node.getAttribute(name), (text) => node.setAttribute(name, text)]);
    }
}

function sayStated() {
    for (const [english, put] of stated)
        put(english.replace(english.trim(), () => say(oneLine(english))));
}
