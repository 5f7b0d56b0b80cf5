# The C tests: which there are, and what single ones need besides the library.

unit: $(BUILD)/unit/make_archive $(BUILD)/unit/list_archive

# The test counts allocations and makes one of them fail.
$(BUILD)/unit/test_archive: UNIT_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc \
                                           -Wl,--wrap=inflateInit2_,--wrap=deflateInit2_

# The tests that take the name of an instruction set, and those of code that cuts its work
# into blocks, which are built with tiny ones as well.
UNIT_ISA = test_kernels test_products test_nn test_model
UNIT_TINY = $(UNIT_ISA) test_tokens

tiny: ## build the C tests that are also run with tiny blocks
	@$(MAKE) --no-print-directory VARIANT='$(FLAVOUR) tiny' BUILD='$(TINY)' $(UNIT_TINY:%='$(TINY)/unit/%')

# What `make check` runs.  Words of a command are joined by commas: tests/run takes them apart.
comma = ,
each_isa = $(foreach isa,$(ISAS),$(UNIT_ISA:%=$(1)/unit/%$(comma)$(isa)))
CHECK_UNIT = $(call each_isa,$(BUILD)) $(call each_isa,$(TINY)) \
             $(patsubst %,$(BUILD)/unit/%,$(filter-out $(UNIT_ISA),$(UNIT))) \
             $(patsubst %,$(TINY)/unit/%,$(filter-out $(UNIT_ISA),$(UNIT_TINY)))

# The files with the longest runs first, so that none is left alone at the end.
LONG_BATS = tests/pipeline.bats tests/unit.bats tests/docs.bats tests/tg-train.bats
BATS = $(LONG_BATS) $(filter-out $(LONG_BATS),$(wildcard tests/*.bats))
CHECK_BATS = $(filter-out tests/unit.bats,$(BATS))
