// The heads as a table: what each does, in the numbers of tg-attn-dump --summary.

const MEASURES = [
    ["entropy", "entropy", "−Σ p ln p, in nats: 0 if one key has all of p"],
    ["dist", "distance", "Σ p (i − j), in tokens"],
    ["diag", "to itself", "p at j = i"],
    ["prev", "to the token before", "p at j = i − 1"],
    ["first", "to the first token", "p at j = 0"],
    ["induct", "induction", "p at keys after an earlier copy of token i, of queries that have one"],
    ["dupl", "duplicate", "p at earlier copies of token i, of queries that have one"],
    ["Δloss", "change in loss", "of the text, in nats a token, without the head: above 0 where it helps"]
].slice(0, Math.min(...dumps.flatMap(({measures}) => measures.flat()).map((of) => of?.length ?? Infinity)));

const DECIMALS = [4, 2, 3, 3, 3, 3, 3, 3]; // as --summary prints them, and a change in loss

const measured = dump.layers.flatMap((layer, l) => Array.from({length: H}, (_, h) => ({layer, l, h, of: dumps[0].measures[l][h]})))
    .filter(({l, h}) => dumps.every(({measures}) => measures[l][h]));

let sorted = {by: -1, down: true, least: -Infinity}; // the column, -1: as they lie in the model; what is shown

// Order and hide the table's rows and the thumbnails alike.
function orderHeads() {
    const {by, down, least} = sorted, number = (head) => by < 0 ? 0 : head.of[by] ?? -Infinity;
    measured.sort((a, b) => (down ? number(b) - number(a) : number(a) - number(b)) || a.layer - b.layer || a.h - b.h);
    byId("measures").tBodies[0].append(...measured.map((head) => head.line));
    measured.forEach((head, rank) => {
        const {button} = thumbs.find(({layer, h}) => layer === head.layer && h === head.h);
        button.style.order = by < 0 ? "" : rank;
        button.hidden = head.line.hidden = by >= 0 && number(head) < least;
    });
    byId("thumbs").classList.toggle("ordered", by >= 0);
    byId("order").textContent = by < 0 ? say("Layers down, heads across.") : say("Sorted by: {0}.", say(MEASURES[by][1]));
    byId("least").disabled = by < 0;
    byId("least").previousSibling.data = (by < 0 ? say("hide heads whose number is below") : say("hide heads whose “{0}” is below", say(MEASURES[by][1]))) + " ";
    [...byId("measures").tHead.rows[0].cells].forEach((cell, n) => {
        cell.setAttribute("aria-sort", n - 1 !== by ? "none" : down ? "descending" : "ascending");
        cell.title = n > 0 ? MEASURES[n - 1].slice(1).map((text) => say(text)).join(say(": ")) : "";
    });
}

// The heads that are not hidden, in the order of the model.
function headsShown() {
    const all = measured.filter(({line}) => !line.hidden).map(({layer, h}) => ({layer, h}));
    return (all.length > 0 ? all : thumbs).toSorted((a, b) => a.layer - b.layer || a.h - b.h);
}

// What the large map and the text show.
const mapHead = () => view.of === "one" ? headOf(view.layer, view.head) : groupOf(headsShown(), view.of);

const groupTitle = () => say(view.of === "mean" ? "Mean of {0} heads" : "Maximum of {0} heads", mapHead().heads.length);

// What the map has in a cell; it may not be computed yet.
function mapNumber({i, j}) {
    const head = mapHead(), x = j > i || i >= head.rows ? NaN : head[view.show][rowStart(i) + j];
    return Number.isNaN(x) ? say(j > i || i < head.rows ? "masked" : "…") : storedText(x);
}

function setOf(of) {
    view.of = byId("of-heads").value = of;
    recolor();
}

// A click sorts by a column, a second one the other way round.
function sortBy(column) {
    sorted = {...sorted, by: column, down: sorted.by === column ? !sorted.down : column >= 0};
    orderHeads();
}

function setLeast(number) {
    sorted.least = Number.isNaN(number) ? -Infinity : number;
    orderHeads();
    refresh();
}

// The numbers of the dump that is shown.
function fillMeasures() {
    for (const head of measured) {
        head.of = dumps[which].measures[head.l][head.h];
        head.of.forEach((x, n) => {
            const cell = head.line.cells[n + 1];
            cell.textContent = x === null ? "—" : x.toFixed(DECIMALS[n]);
            cell.title = x === null ? "" : textOf(x);
        });
    }
    if (measured.length > 0)
        orderHeads();
}

function markHead() {
    for (const {layer, h, line} of measured) {
        const chosen = layer === view.layer && h === view.head;
        line.classList.toggle("chosen", chosen);
        line.cells[0].firstChild.setAttribute("aria-current", String(chosen));
    }
}

function measureRow(head) {
    const line = element("tr", ""), button = element("button", `${head.layer}.${head.h}`, {type: "button"});
    const name = element("th", "", {scope: "row"});
    name.append(button);
    line.append(name, ...MEASURES.map(() => element("td", "")));
    line.addEventListener("click", () => goTo(head.layer, head.h));
    return line;
}

function makeOf() {
    const label = element("label", "the map shows "), select = label.appendChild(element("select", "", {id: "of-heads"}));
    for (const [of, name] of [["one", "one head"], ["mean", "the mean of the heads above"], ["max", "their maximum"]])
        select.append(element("option", name, {value: of}));
    select.addEventListener("change", () => setOf(select.value));
    byId("heads").append(label);
}

function makeMeasures() {
    if (measured.length === 0) {
        makeOf();
        return;
    }
    const table = element("table", "", {id: "measures"}), titles = table.createTHead().insertRow();
    ["head", ...MEASURES.map(([name]) => name)].forEach((name, n) => {
        const cell = element("th", "", {scope: "col"});
        cell.append(element("button", name, {type: "button"}));
        cell.firstChild.addEventListener("click", () => sortBy(n - 1));
        titles.append(cell);
    });
    table.createTBody();
    for (const head of measured)
        head.line = measureRow(head);
    const least = element("label", "hide heads whose number is below ", {title: "in the column that sorts"});
    least.append(element("input", "", {type: "number", step: "any", id: "least"}));
    least.firstElementChild.addEventListener("input", (event) => setLeast(event.target.valueAsNumber));
    byId("heads").append(table, element("p", "Means over the queries after the first. Click a column’s title to sort."), least);
    makeOf();
    fillMeasures();
}
