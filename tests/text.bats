# Splitting and normalising, against other programs.  In make soak with every character (split.py).

load helper

pieces_against() {
    need_judge "$1"
    need_judge unicodedata2
    make_unit
    run -0 "$TG_JUDGE_PYTHON" "$ROOT/tests/judges/split.py" "$BUILD/unit/split_text" "$1" \
        "$ROOT/tests/unit/test_split.c" "$ROOT"/docs/*.md ${TG_TEST_DATA:+"$TG_TEST_DATA/tinyshakespeare.txt"}
    echo "$output"
}

@test "pieces: regex" { pieces_against regex; }
@test "pieces: tokenizers" { pieces_against tokenizers; }
@test "pieces: tiktoken" { pieces_against tiktoken; }

@test "normal forms: unicodedata2" {
    need_judge unicodedata2
    make_unit
    run -0 "$TG_JUDGE_PYTHON" "$ROOT/tests/judges/normalize.py" "$BUILD/unit/nfc_text"
    echo "$output" # docs/man/tg-tokenize.1 has the numbers for utf8proc 2.8
    [[ $output != *"18.0.0 has, and utf8proc's 15.0.0 lacks, "* ||
        $output = *"lacks, 80 marks that are reordered, 20 characters that are composed" ]]
}

@test "the tables are of the Unicode that the header names" {
    need_judge unicodedata2
    local version
    version=$("$TG_JUDGE_PYTHON" -c 'import unicodedata2; print(unicodedata2.unidata_version)')
    grep -q "TG_UNICODE_VERSION \"$version\"" "$ROOT/lib/unicode/unicode.h" || skip "unicodedata2 is of Unicode $version"
    cp -r "$ROOT/lib" "$ROOT/tests/unicode_tables.py" .
    "$TG_JUDGE_PYTHON" unicode_tables.py
    local file
    for file in classes seconds; do
        cmp "lib/unicode/unicode_$file.c" "$ROOT/lib/unicode/unicode_$file.c"
    done
}

@test "SentencePiece's ids are sentencepiece's and tokenizers'" {
    slow
    need_data tinyshakespeare.txt
    need_judge sentencepiece
    need_judge tokenizers
    run -0 "$TG_JUDGE_PYTHON" "$ROOT/tests/judges/spm.py" "$BUILD/bin" "$TG_TEST_DATA/tinyshakespeare.txt"
    [[ $output = *'across-words, written: the same ids, and texts' ]]
}

@test "ids with llama.cpp's vocabulary files are llama.cpp's" {
    slow
    need_data ggml-vocab-llama-spm.gguf
    run -0 python3 "$ROOT/tests/judges/vocab_files.py" "$BUILD/bin" "$TG_TEST_DATA"
    [[ $output = *": the same ids"* ]]
}

# begins FILE: what begins a text, in directories with this file of the tokenizer.
begins() {
    need_data tinyshakespeare.txt
    need_judge sentencepiece
    need_judge transformers
    run -0 "$TG_JUDGE_PYTHON" "$ROOT/tests/judges/bos.py" "$BUILD/bin" "$TG_TEST_DATA/tinyshakespeare.txt" "$1"
    [[ $output = *": the same ids" ]]
}

@test "what begins a text is what transformers puts there" {
    slow
    begins tokenizer.json
}

@test "what begins a text of a tokenizer.model is what transformers puts there" {
    slow
    need_judge google.protobuf
    begins tokenizer.model
}

@test "GPT-2's ids are tiktoken's and gigatoken's" {
    slow
    need_data gpt2/vocab.bpe
    need_data tinyshakespeare.txt
    need_judge tiktoken
    need_judge gigatoken
    run -0 "$TG_JUDGE_PYTHON" "$ROOT/tests/judges/encode.py" "$BUILD/bin/tg-tokenize" \
        "$TG_TEST_DATA/gpt2/vocab.bpe" "$TG_TEST_DATA/tinyshakespeare.txt"
    [[ $output = "the same ids" ]]
}
