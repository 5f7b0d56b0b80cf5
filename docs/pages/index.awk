# docs/pages/README.md, or its Chinese twin, as a page for a browser: what is before its commands.
function escaped(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); return s }

# Links, images and code of a line of text.
function inline(s,    out, at, name, to) {
    s = escaped(s)
    while (match(s, /!?\[[^]]*\]\([^)]*\)|`[^`]*`/)) {
        at = substr(s, RSTART, RLENGTH)
        out = out substr(s, 1, RSTART - 1)
        s = substr(s, RSTART + RLENGTH)
        if (at ~ /^`/) {
            out = out "<code>" substr(at, 2, length(at) - 2) "</code>"
            continue
        }
        name = at; sub(/^!?\[/, "", name); sub(/\]\(.*/, "", name)
        to = at; sub(/^[^(]*\(/, "", to); sub(/\)$/, "", to)
        if (to == "README.md") to = "index.html"
        if (to == "README.zh-CN.md") to = "index.zh-CN.html"
        out = out (at ~ /^!/ ? "<img src=\"" to "\" alt=\"" name "\">" : "<a href=\"" to "\">" name "</a>")
    }
    return out s
}

function flush_block() {
    if (block ~ /^[0-9]+\. /) {
        if (!list) print "<ol>"
        list = 1
        sub(/^[0-9]+\. /, "", block)
        print "<li>" inline(block) "</li>"
    } else if (block != "") {
        if (list) print "</ol>"
        list = 0
        print "<p>" inline(block) "</p>"
    }
    block = ""
}

BEGIN {
    print "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">"
    print "<style>body { max-width: 46em; margin: 2em auto; padding: 0 1em; font: 1.05em/1.6 system-ui, sans-serif; color-scheme: light dark }"
    print "li { margin: 0.6em 0 } img { max-width: 100%; background: white }</style>"
}
/^## / { exit }
/^# / { flush_block(); title = substr($0, 3); print "<title>" escaped(title) "</title>\n<h1>" escaped(title) "</h1>"; next }
/^$/ || /^[0-9]+\. / { flush_block() }
{ line = $0; sub(/^ +/, "", line); block = block == "" ? line : block (lines_join ? " " : "") line }
END { flush_block(); if (list) print "</ol>" }
