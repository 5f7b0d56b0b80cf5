# Static analysis: make lint, make analyze.

# What cppcheck is mistaken about is in tests/cppcheck.txt.
CPPCHECK_FLAGS = --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
    --suppressions-list=tests/cppcheck.txt --error-exitcode=1
# A test's variables come from bats and helper.bash; its functions' arguments may be left out.
SHELLCHECK_FLAGS = --shell=bash --severity=warning --exclude=SC2034,SC2120,SC2154
LINT_FLAGS = $(ALL_CPPFLAGS) $(MPI_CFLAGS) $(if $(MPI),-DTEAM_MPI='"$(MPICC)"') $(ISA_LIST) -DTG_ISA=portable -DTG_REAL=32
# cmd/team/mpi*.c need a header of MPI.
CMD_SRC := $(TEAM_SRC) $(filter-out cmd/team/%,$(wildcard cmd/*/*.c))
TIDY := $(addprefix tidy/,$(LIB_SRC) $(REF_SRC) $(ISA_SRC) $(CMD_SRC))

# cppcheck and scripts are one command each, and take longest.
lint: cppcheck scripts $(TIDY) format layout manuals subjects ## static analysis (cppcheck, clang-tidy, shellcheck, mandoc), layout, format, commits

# which file refers to which, the objects tell
CMD_OBJ = $(CLI_OBJ) $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard cmd/tg-*/*.c))
layout: $(BUILD)/libtg.a $(CMD_OBJ)
	$(Q)tests/layout $< $(LIB_OBJ) $(CMD_OBJ)

cppcheck:
	cppcheck $(CPPCHECK_FLAGS) $(LINT_FLAGS) cmd formats lib

scripts:
	shellcheck $(SHELLCHECK_FLAGS) tests/*.bash tests/*.bats tests/run tests/cross tests/layout tests/subjects tests/same tests/interop tests/judges/python \
	    $(addprefix tests/bench/,peers loss network team first-model *.bash) $(addprefix tests/fuzz/,minimize plant run) tests/unit/tiny_cc .ci/run tests/coverage docs/demo docs/make-files \
	    docs/packaging/first-ten-minutes docs/packaging/debian/tests/first-ten-minutes docs/packaging/debian/tests/library

subjects:
	$(Q)tests/subjects

manuals:
	@for page in $(MAN); do mandoc -T lint -W warning $$page || exit 1; done

# gcc's analyzer follows all paths through a file: what is allocated, opened and freed.  gcc 12's is mistaken
# about what a loop has set (for all files: the sanitizers look for that), about memory that is stored in
# an array or a struct of the caller (MISTAKEN_LEAKS), and about pointers that a function in another file has
# set, or that a count of 0 keeps from being used (MISTAKEN_NULLS).  Of a vector it takes the wrong width, and
# some products, which allocate nothing, have too many paths for it.
ANALYZED_ISA = $(filter-out lib/kernels/isa/matmul.c lib/kernels/isa/matmul_bf16.c,$(ISA_SRC))
ANALYZE := $(addprefix analyze/,$(filter-out lib/base/status.c,$(LIB_SRC)) $(REF_SRC) $(CMD_SRC) $(ANALYZED_ISA))
MISTAKEN_LEAKS = $(addprefix analyze/,cmd/tg-info/runs.c lib/models/notes.c lib/info/archives.c lib/info/parts.c lib/text/parallel.c \
                 lib/results/results.c formats/safetensors.c cmd/tg-attn-view/headvis_data.c)
MISTAKEN_NULLS = $(addprefix analyze/,lib/models/model_file.c lib/models/model_values.c lib/learn/learned_tokens.c cmd/tg-attn-dump/options.c)
ANALYZE_FLAGS = -fanalyzer -Wno-analyzer-use-of-uninitialized-value
$(MISTAKEN_LEAKS): ANALYZE_FLAGS += -Wno-analyzer-malloc-leak
$(addprefix analyze/,$(ANALYZED_ISA)): ANALYZE_FLAGS += -Wno-analyzer-shift-count-overflow
$(MISTAKEN_NULLS): ANALYZE_FLAGS += -Wno-analyzer-null-dereference -Wno-analyzer-null-argument
.PHONY: $(ANALYZE)
analyze: $(ANALYZE) ## gcc -fanalyzer: leaks, uses after free, missing checks; 40 s of a processor
$(ANALYZE): analyze/%:
	$(call say,ANALYZE,$*)
	$(Q)gcc $(LINT_FLAGS) -include tests/analyzer.h -std=c11 -fopenmp-simd $(ANALYZE_FLAGS) -Werror -S -o /dev/null $*

# Versions of clang-format differ: .clang-format is for 14's.
format: ## whether clang-format would leave the C files as they are (clang-format -i FILE changes one)
	clang-format --dry-run -Werror $(shell find cmd docs formats lib tests -name '*.[ch]')

# The analyzer follows values within a function and into the smallest ones that it calls (shallow): what
# it is asked for lies there (.clang-tidy).  TIDY_MODE=deep takes fifteen times as long.
TIDY_MODE = shallow
xclang = $(foreach word,$(1),--extra-arg=-Xclang --extra-arg=$(word))

.PHONY: $(TIDY) format layout cppcheck scripts manuals subjects
$(TIDY): tidy/%:
	$(call say,TIDY,$*)
	$(Q)clang-tidy --quiet $(call xclang,-analyzer-config mode=$(TIDY_MODE)) $* -- $(LINT_FLAGS) -std=c11 -fopenmp-simd 2> /dev/null
