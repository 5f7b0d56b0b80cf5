# Programs that the bats tests use, and what single C tests need.

unit: $(BUILD)/unit/make_archive $(BUILD)/unit/list_archive

# The test counts allocations and makes one of them fail.
$(BUILD)/unit/test_archive: UNIT_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc \
                                           -Wl,--wrap=inflateInit2_,--wrap=deflateInit2_

# Parts of tg-attn-dump: its worked examples, and its lines.
EXAMPLE_OBJ := $(BUILD)/obj/cmd/tg-attn-dump/example.o
$(BUILD)/unit/test_attn $(BUILD)/unit/test_heads $(BUILD)/unit/test_trace: $(EXAMPLE_OBJ)
$(BUILD)/unit/test_lines: $(EXAMPLE_OBJ) $(LINES_OBJ)
