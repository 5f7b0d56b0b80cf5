# Programs that the bats tests use, and what single C tests need.

unit: $(BUILD)/unit/make_archive $(BUILD)/unit/list_archive $(BUILD)/unit/train_alone

# The test counts allocations and makes one of them fail.
$(BUILD)/unit/test_archive: UNIT_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=inflateInit2_

# Compressed archives, which tg itself does not write.
$(addprefix $(BUILD)/unit/,make_archive test_archive test_import test_model): $(BUILD)/obj/tests/unit/deflated.o

# A second kind of tokenizer, tests/unit/grams.c: in a test of its own, and in tools for
# tests/tokenizers.bats.  It brings the table of kinds, so it is linked before the library, whose
# own table is then left out.
GRAMS := $(BUILD)/obj/tests/unit/grams.o
GRAMS_TOOLS := $(patsubst %,$(BUILD)/grams/%,tg-tokenize tg-init tg-train tg-attn-dump tg-sample)

unit: $(GRAMS_TOOLS)

$(BUILD)/unit/test_tokenizer: $(BUILD)/obj/tests/unit/test_tokenizer.o $(GRAMS) $(UNIT_COMMON) $(BUILD)/libtg.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LDFLAGS) $(LIBS)

define grams_rule
$(BUILD)/grams/$(1): $$(patsubst %.c,$(BUILD)/obj/%.o,$$(wildcard cmd/$(1)/*.c)) $(GRAMS) $(BUILD)/libcli.a $(BUILD)/libtg.a
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$(Q)$$(CC) $$(ALL_CFLAGS) -o $$@ $$^ $$(ALL_LDFLAGS) $$(LIBS)
endef
$(foreach tool,$(notdir $(GRAMS_TOOLS)),$(eval $(call grams_rule,$(tool))))

# A family of models has its steps in both precisions.
$(BUILD)/unit/test_family: $(BUILD)/obj/tests/unit/family_parallel.f32.o $(BUILD)/obj/tests/unit/family_parallel.f64.o

# Parts of tg-attn-dump: its worked examples, and its lines.
EXAMPLE_OBJ := $(BUILD)/obj/cmd/tg-attn-dump/example.o
$(BUILD)/unit/test_attn $(BUILD)/unit/test_heads $(BUILD)/unit/test_trace: $(EXAMPLE_OBJ)
$(BUILD)/unit/test_lines: $(EXAMPLE_OBJ) $(LINES_OBJ)
