# The C tests: which there are, and what single ones need besides the library.

unit: $(addprefix $(BUILD)/unit/,make_archive list_archive train_alone split_text nfc_text gguf_file list_torch comma make_family plain_logits)

# What damages archives, for tests/damage.bats.
unit: $(BUILD)/unit/damage
$(BUILD)/unit/damage: $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tests/damage/*.c)) $(BUILD)/libtg.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LDFLAGS) $(LIBS)

# Tests that count allocations and make some of them fail.
FAILING := $(addprefix $(BUILD)/unit/,test_archive test_chars test_gguf test_gguf_model test_gguf_vocab test_json test_learn \
             test_llama2c test_llmc test_model_file test_pickle test_safetensors test_save test_spm_files test_bpe test_tokens test_torch_file test_torch_model test_vocab_file)
$(FAILING): $(BUILD)/obj/tests/unit/failing.o $(BUILD)/obj/tests/unit/failing_wrap.o
$(FAILING): UNIT_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
$(BUILD)/unit/test_archive: UNIT_LDFLAGS += -Wl,--wrap=inflateInit2_,--wrap=inflate

# Tests that make system calls fail.
REFUSING := $(addprefix $(BUILD)/unit/,test_bpe test_dump test_model_file test_save test_torch_model test_vocab_file)
$(REFUSING): $(BUILD)/obj/tests/unit/refusing.o
$(REFUSING): UNIT_LDFLAGS += $(patsubst %,-Wl$(comma)--wrap=%,open close stat fstat readlink lseek fsync flock read write pwrite mmap \
             munmap sysconf fstatvfs getxattr fsetxattr fremovexattr)

# Compressed archives, which tg itself does not write.
$(addprefix $(BUILD)/unit/,make_archive test_archive test_model_file test_stream): $(BUILD)/obj/tests/unit/deflated.o

# Files as PyTorch lays them out.
$(BUILD)/unit/test_torch_file $(BUILD)/unit/test_torch_model: $(BUILD)/obj/tests/unit/torch_zip.o

# Directories of Hugging Face's.
HF_READ := $(addprefix $(BUILD)/unit/,test_hf_families test_hf_layers)
HF_WRITTEN := $(addprefix $(BUILD)/unit/,test_hf_write test_hf_weights test_gguf_write test_gguf_refused test_lending)
$(HF_READ): $(BUILD)/obj/tests/unit/hf_read.o
$(HF_WRITTEN): $(BUILD)/obj/tests/unit/hf_written.o
$(HF_READ) $(HF_WRITTEN) $(BUILD)/unit/test_llama2c: $(BUILD)/obj/tests/unit/hf_directory.o
$(addprefix $(BUILD)/unit/,test_gguf_write test_gguf_refused test_lending): $(BUILD)/obj/tests/unit/gguf_written.o

# The tile unit's kernels on a model of it, for processors without one: an instruction set of its own.  With -O1,
# as for the sanitizers, the model takes a third of their tests' time.
ifneq ($(filter amx,$(ISAS)),)
ISA_FLAGS_tiles_model = $(ISA_FLAGS_avx512bf16) $(if $(filter -O1,$(lastword $(filter -O%,$(CFLAGS) $(KERNEL_CFLAGS)))),-O2) \
                        -include tests/unit/tiles_model.h
$(eval $(call isa_rule,tiles_model))
$(BUILD)/obj/tests/unit/test_products.o $(BUILD)/obj/tests/unit/test_attend16.o: ALL_CPPFLAGS += -DTG_TILES_MODEL
$(BUILD)/unit/test_products: $(BUILD)/obj/lib/kernels/isa/matmul_amx.tiles_model.o
$(BUILD)/unit/test_attend16: $(BUILD)/obj/lib/kernels/isa/attend16_tiles.tiles_model.o
endif

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

$(BUILD)/unit/test_family: $(BUILD)/obj/tests/unit/family_parallel.o
$(BUILD)/unit/test_grouped: $(BUILD)/obj/tests/unit/family_grouped.o
$(addprefix $(BUILD)/unit/,make_family test_circuit test_growing test_lens test_muon test_patch test_paths test_backward test_steer test_vectors): $(BUILD)/obj/tests/unit/bodies.o

$(BUILD)/unit/test_muon: $(BUILD)/obj/tests/unit/ref_muon.o

$(addprefix $(BUILD)/unit/,test_train test_first_context test_average): $(BUILD)/obj/tests/unit/byte_stream.o
$(addprefix $(BUILD)/unit/,test_first_context test_average): $(BUILD)/obj/tests/unit/short_run.o

# Teams without MPI.
$(addprefix $(BUILD)/unit/,test_train test_first_context test_average test_eval test_ablate): $(BUILD)/obj/tests/unit/thread_team.o

# Parts of tg-attn-dump: its worked examples, and its lines.
EXAMPLE_OBJ := $(BUILD)/obj/cmd/tg-attn-dump/example.o
$(addprefix $(BUILD)/unit/,test_attn test_example test_heads test_trace): $(EXAMPLE_OBJ)
$(BUILD)/unit/test_lines: $(EXAMPLE_OBJ) $(LINES_OBJ)

# The tests that take the name of an instruction set, and those of code that cuts its work
# into blocks, which are built with tiny ones as well.
UNIT_ISA = test_kernels test_products test_attend16 test_nn test_model
UNIT_TINY = $(UNIT_ISA) test_tokens test_tokenizer test_bpe test_spm test_backward test_family test_learn

# What a block's size changes is seen at any level: the compiler takes half as long, unless somebody chose a level.
TINY_KERNEL_CFLAGS := $(if $(filter file,$(origin KERNEL_CFLAGS)),$(KERNEL_CFLAGS:-O3=-O1),$(KERNEL_CFLAGS))

tiny: unit ## build the C tests that are also run with tiny blocks
	@$(MAKE) --no-print-directory VARIANT='$(FLAVOUR) tiny' KERNEL_CFLAGS='$(TINY_KERNEL_CFLAGS)' BUILD='$(TINY)' PLAIN='$(BUILD)' $(UNIT_TINY:%='$(TINY)/unit/%')

# Words of a command are joined by commas: tests/run takes them apart.
comma = ,
with_isa = $(3:%=$(1)/unit/%$(comma)$(2))

# What `make ctest` runs, as tests/unit.bats does.
NO_TINY =
ALL_UNIT = $(foreach build,$(BUILD) $(if $(NO_TINY),,$(TINY)), \
               $(foreach isa,$(ISAS),$(call with_isa,$(build),$(isa),$(UNIT_ISA))) \
               $(patsubst %,$(build)/unit/%,$(filter-out $(UNIT_ISA),$(if $(filter $(TINY),$(build)),$(UNIT_TINY),$(UNIT)))))

# What `make check` runs: kernels, and what is made of them, with the best instruction set.
QUICK_UNIT = $(call with_isa,$(BUILD),best,$(UNIT_ISA) test_split) \
             $(patsubst %,$(BUILD)/unit/%,$(filter-out $(UNIT_ISA) test_split,$(UNIT)))

# With the sanitizers, and for other processors.  With tiny blocks, where short inputs reach every edge: kernels with every
# instruction set, what is made of them with the best.  With blocks of the usual size: kernels and a model with the best
# set, and all tests that are not built with tiny blocks.
KERNEL_TESTS = test_kernels test_products test_attend16
CHECK_UNIT = $(foreach isa,$(ISAS),$(call with_isa,$(TINY),$(isa),$(KERNEL_TESTS))) \
             $(call with_isa,$(TINY),best,$(filter-out $(KERNEL_TESTS),$(UNIT_ISA))) \
             $(call with_isa,$(BUILD),best,$(KERNEL_TESTS) test_model test_split) \
             $(patsubst %,$(TINY)/unit/%,$(filter-out $(UNIT_ISA),$(UNIT_TINY))) \
             $(patsubst %,$(BUILD)/unit/%,$(filter-out $(UNIT_TINY) test_split,$(UNIT)))

# The files with the longest runs first, so that none is left alone at the end: fuzz is one with the sanitizers.
LONG_BATS = $(patsubst %,tests/%.bats,pipeline tg-attn-view-page vocabularies fuzz unit faults crash tg-attn-view tg-attn-view-families \
            tg-attn-view-after packaging tg-train docs text damage)
BATS = $(LONG_BATS) $(filter-out $(LONG_BATS) tests/cross.bats,$(wildcard tests/*.bats))
# What `make check` leaves out: files of slow tests, or for other builds.  With the sanitizers also what is run once, in
# the release build, because they see no more of it than that build's tests do: documents, packages, other shells,
# answers to mistakes (whose options tests/fuzz/fuzz_options.c makes up), tables in other programs; and what cannot
# run with them.
SLOW_BATS = $(patsubst %,tests/%.bats,unit crash faults interop network races races-models tg-attn-view-page tg-attn-view-families)
ONCE_BATS = $(patsubst %,tests/%.bats,bench completions docs guides hardening images mistakes mpi mpi-failures packaging sandbox tables trial)
# Files whose tests all take longer than `make check` allows, but not with the sanitizers, where they find most.
ALL_SLOW_BATS = $(patsubst %,tests/%.bats,bad-files damage images mpi-failures text tg-attn-view tg-attn-view-after tg-attn-view-headvis \
                tg-attn-view-layers)
CHECK_BATS = $(filter-out $(SLOW_BATS) $(if $(filter asan,$(FLAVOUR)),$(ONCE_BATS),$(ALL_SLOW_BATS)),$(BATS))
