# Shared by the scripts that time steps of tg-train by its log.

# The median of numbers on standard input, one a line.
median() {
    sort -g | awk '{ t[NR] = $1 } END { print (t[int((NR + 1) / 2)] + t[int(NR / 2) + 1]) / 2 }'
}

# step_seconds LOG: the seconds of a step, the median of all but the first two and the last, which also evaluates.
step_seconds() {
    awk -F '\t' 'NR > 3 { print $7 - last } { last = $7 }' "$1" | head -n -1 | median
}
