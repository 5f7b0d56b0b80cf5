# tg: small Unix tools to train, inspect and sample small language models on a CPU.
# `make help` lists the targets and the variables; V=1 shows the commands.

VERSION = 0.2.0
SONAME = 0

# ---- what the user may set
##
## Variables (make NAME=value TARGET):
##   CC, CFLAGS, CPPFLAGS, LDFLAGS   for the compiler; each set of them has a separate folder in build/
##   KERNEL_CFLAGS                   after CFLAGS, for loops (lib/kernels/isa, lib/nn and a few more): -O3 if CFLAGS
##                                   has -O2, else nothing
##   HARDENING=                      without flags against attacks (default: those that the compiler knows)
##   BUILD=DIR                       build in DIR; from another directory, make -f SOURCES/Makefile
##   WERROR=1                        a warning is an error
##   MPI=1                           tg-train runs as several processes: with the MPI of mpicc, or MPI=openmpi, MPI=mpich
##   PREFIX, DESTDIR, BINDIR, LIBDIR, INCLUDEDIR, MANDIR, DOCDIR, BASHCOMPDIR, ZSHCOMPDIR, FISHCOMPDIR
##                                   where install puts things
##   SHELLS=                         no completions, which the tools that were built write themselves
##   EMULATOR='qemu-aarch64 -L DIR'  runs these tools where CC makes them for another processor; qemu, if there is none given
##   TEXT=FILE                       a text for demo and results
CC ?= cc
ifeq ($(origin CC),default)
CC = gcc
endif
# The sanitizers' code takes the compiler twice as long with -O2, and reports need lines but no variables.
CFLAGS ?= $(if $(filter asan tsan,$(VARIANT)),-O1 -g1,-O2 -g)
# The loops of kernels gain from -O3.  Another level than -O2 is what somebody asked for.
KERNEL_CFLAGS ?= $(if $(filter -O2,$(lastword $(filter -O%,$(CFLAGS)))),-O3)
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/tg
INSTALL ?= install
TEXT ?=
WERROR ?=
MPI ?=

# All processors, unless -j says otherwise; clean comes before what is named after it.
ifeq ($(MAKELEVEL)$(filter clean,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(shell nproc 2> /dev/null || getconf _NPROCESSORS_ONLN 2> /dev/null || echo 1)
endif

# ---- from another directory (make -f DIRECTORY/Makefile) make runs here, and writes there
HERE := $(dir $(lastword $(MAKEFILE_LIST)))
ifneq ($(realpath $(HERE)),$(realpath .))
GIVEN_PATHS = $(foreach name,BUILD DESTDIR TEXT,$(if $($(name)),$(name)='$(abspath $($(name)))'))
.PHONY: there $(sort all $(MAKECMDGOALS))
$(sort all $(MAKECMDGOALS)): there
	@:
there:
	+@$(MAKE) --no-print-directory -C '$(HERE)' BUILDS='$(CURDIR)/build' $(GIVEN_PATHS) $(MAKECMDGOALS)
else

# ---- a build directory for each set of flags, so that objects never mix
# VARIANT: release; asan, with sanitizers; tsan, with that of threads; tiny, with tiny blocks; or asan and tiny;
# fuzz and cov, of the fuzzers.
# WERROR changes no object, so it has no directory of its own: what is compiled with it had no warnings.
VARIANT ?= release
FLAVOUR := $(or $(filter-out tiny,$(VARIANT)),release)
BUILDS := build
ALL_FLAGS := $(CFLAGS) $(KERNEL_CFLAGS) $(CPPFLAGS) $(LDFLAGS) $(if $(filter undefined,$(origin HARDENING)),,HARDENING=$(HARDENING))
ifeq ($(FLAVOUR) $(CC) $(strip $(ALL_FLAGS)),release gcc -O2 -g -O3)
BUILD := $(BUILDS)/release
else ifneq ($(FLAVOUR),release)
BUILD := $(BUILDS)/$(FLAVOUR)-$(notdir $(CC))
else
BUILD := $(BUILDS)/$(notdir $(CC))-$(shell printf '%s' '$(ALL_FLAGS)' | cksum | cut -d' ' -f1)
endif

ifeq ($(FLAVOUR),asan)
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer \
           $(if $(findstring clang,$(CC)),-Wno-pass-failed)
# With these checks of each vector clang takes five times as long for a kernel.  gcc does not, and has them.
UNCHECKED_ISA = $(if $(findstring clang,$(CC)),$(addprefix -fno-sanitize=,alignment null object-size pointer-overflow))
endif
ifeq ($(FLAVOUR),tsan)
SANITIZE = -fsanitize=thread -fno-omit-frame-pointer
endif
# without most instruction sets, and without the optimiser that vectorises
FEWER_WARNINGS = -Wno-unused-function -Wno-pass-failed
ifeq ($(FLAVOUR),fuzz)
SANITIZE = -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer \
           $(FEWER_WARNINGS)
endif
ifeq ($(FLAVOUR),cov)
# threads would lose counts, and a branch that is computed from two would seem taken
SANITIZE = -fprofile-instr-generate -fcoverage-mapping -fprofile-update=atomic $(FEWER_WARNINGS)
endif

TINY := $(BUILD)-tiny
ifneq ($(filter tiny,$(VARIANT)),)
BUILD := $(TINY)
TINY_BLOCKS = -include tests/unit/tiny_blocks.h $(if $(filter fuzz,$(FLAVOUR)),-include tests/fuzz/limits.h)
endif

# Tools with an MPI have a separate directory, and the same library.
TOOLS_BUILD := $(BUILD)$(if $(MPI),-mpi$(if $(filter-out 1,$(MPI)),-$(MPI)))

# ---- hardening: flags that make attacks harder, as far as the compiler and the linker know them
# They are asked once, when something is compiled: about all flags together, and if that fails about each.
# What sets _FORTIFY_SOURCE itself keeps that.  It needs an optimiser; the sanitizers check more.
ifeq ($(FLAVOUR),release)
HARDENING ?= $(FORTIFY) -fstack-protector-strong -fstack-clash-protection $(BRANCHES) $(PIE) \
             -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack
endif
FORTIFY = $(if $(or $(findstring _FORTIFY_SOURCE,$(CFLAGS) $(CPPFLAGS)),$(findstring -fsanitize,$(CFLAGS))),, \
          $(if $(filter-out -O0,$(lastword $(filter -O%,$(CFLAGS)))),-D_FORTIFY_SOURCE=3))
BRANCHES = $(if $(filter x86_64-% i%86-%,$(MACHINE)),-fcf-protection) \
           $(if $(filter aarch64-%,$(MACHINE)),-mbranch-protection=standard)
PIE = $(if $(filter -static,$(CFLAGS) $(LDFLAGS)),,-pie)
ask_compiler = $(shell flags='$(strip $(HARDENING))'; out=$$(mktemp) || exit; \
    knows() { echo 'int main(void) { return 0; }' | $(CC) -Werror -fPIC -U_FORTIFY_SOURCE $(CPPFLAGS) $(CFLAGS) \
              "$$@" $(LDFLAGS) -include string.h -x c -o "$$out" - 2> /dev/null; }; \
    if knows $$flags; then echo "$$flags"; else for flag in $$flags; do \
        if knows $$flag; then echo "$$flag"; \
        elif [ $$flag = -D_FORTIFY_SOURCE=3 ] && knows -D_FORTIFY_SOURCE=2; then echo -D_FORTIFY_SOURCE=2; \
        fi; done; fi; rm -f "$$out")
KNOWN = $(eval KNOWN := $$(if $$(strip $$(HARDENING)),$$(ask_compiler)))$(KNOWN)
HARD_CFLAGS = $(if $(filter -D_FORTIFY_SOURCE%,$(KNOWN)),-U_FORTIFY_SOURCE) $(filter-out -pie -Wl%,$(KNOWN))
HARD_LDFLAGS = $(filter -Wl%,$(KNOWN))
HARD_TOOL = $(filter -pie,$(KNOWN))

# The sanitizers' tables, megabytes, are relocated and their library is bound whenever a tool starts, which tests do
# thousands of times: 20 ms of a processor, or 13 with these flags.  A compiler that lacks one takes fewer.
ifeq ($(FLAVOUR),asan)
ask_light = $(shell out=$$(mktemp) || exit; for flags in '-no-pie -static-libasan -static-libubsan' -no-pie; do \
    if echo 'int main(void) { return 0; }' | $(CC) -Werror -fPIC $(SANITIZE) $(CPPFLAGS) $(CFLAGS) $$flags $(LDFLAGS) \
        -x c -o "$$out" - 2> /dev/null; then echo "$$flags"; break; fi; done; rm -f "$$out")
LIGHT_TOOL = $(eval LIGHT_TOOL := $$(if $$(HARD_TOOL),,$$(ask_light)))$(LIGHT_TOOL)
endif

WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
           -Wmissing-prototypes -Wvla -Wdouble-promotion -Wformat=2 $(LTO_WARNINGS) $(if $(WERROR),-Werror)
LTO := $(findstring -flto,$(CFLAGS))
# With -flto gcc sees that tg_fail() is called before something is set, but not that the result is then not 0.
LTO_WARNINGS = $(if $(findstring clang,$(CC)),,$(if $(LTO),-Wno-maybe-uninitialized))
ALL_CPPFLAGS = -I. -D_POSIX_C_SOURCE=200809L -DTG_VERSION='"$(VERSION)"' $(TINY_BLOCKS) $(CPPFLAGS)
# A tool has the functions and tables that it reaches, and no others.  Sanitizers have tables of all that there are.
ifeq ($(FLAVOUR),release)
SECTIONS = -ffunction-sections -fdata-sections
GC_SECTIONS = -Wl,--gc-sections
endif
# Two directories give the same files.
PREFIX_MAP = -ffile-prefix-map='$(CURDIR)'=.
ALL_CFLAGS = -std=c11 -pthread -fopenmp-simd -fPIC -fvisibility=hidden -ffp-contract=off $(SECTIONS) $(WARNINGS) $(SANITIZE) \
             $(PREFIX_MAP) $(HARD_CFLAGS) $(CFLAGS)
ALL_LDFLAGS = -pthread $(SANITIZE) $(HARD_LDFLAGS) $(LDFLAGS)
LIBS = -ldeflate -lutf8proc -lz -lm

Q = $(if $(V),,@)
say = $(if $(V),,@printf '  %-8s %s\n' '$(1)' '$(2)')

# ---- MPI: what knows it is cmd/team/mpi*.c, and the compiler's wrapper what it takes
MPICC = mpicc$(if $(filter-out 1,$(MPI)),.$(MPI))
ifneq ($(MPI),)
MPI_SAYS := $(shell $(MPICC) -show)
ifeq ($(MPI_SAYS),)
$(error MPI=$(MPI) needs $(MPICC): on Debian, mpich and libmpich-dev, or openmpi-bin and libopenmpi-dev)
endif
MPI_CFLAGS := $(patsubst -I%,-isystem %,$(filter -I%,$(MPI_SAYS)))
MPI_LIBS := -Wl,--as-needed $(filter -L% -l% -Wl%,$(MPI_SAYS))
TEAM_SRC := $(filter-out cmd/team/alone.c,$(wildcard cmd/team/*.c))
else
TEAM_SRC := $(filter-out cmd/team/mpi%,$(wildcard cmd/team/*.c))
endif

# ---- files
# a tool is the sources of its folder, what it needs of cmd/cli, cmd/lines and cmd/team, and the library
TOOLS := $(patsubst cmd/%/main.c,%,$(wildcard cmd/*/main.c))
CLI_OBJ := $(patsubst %.c,$(TOOLS_BUILD)/obj/%.o,$(TEAM_SRC)) $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard cmd/cli/*.c cmd/lines/*.c))
# the references, which are compiled in single and in double precision
REF_SRC := $(wildcard lib/nn/ref/*.c)
LIB_SRC := $(filter-out lib/kernels/isa/%,$(wildcard lib/*/*.c formats/*.c))
ISA_SRC := $(wildcard lib/kernels/isa/*.c)
UNIT := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
# what is installed: what lib/tg.h includes, directly or not
HEADERS = $(filter-out lib/tg.h,$(filter %.h,$(shell $(CC) -I. -MM lib/tg.h)))
MAN := $(wildcard docs/man/*.[17])
# at the same places under DOCDIR as here, so that their links stay true
DOCS := README.md formats/README.md docs/packaging/README.md docs/packaging/first-ten-minutes \
    docs/make-files $(wildcard docs/*.md docs/pages/*.md docs/pages/*.png docs/images/*.* docs/data/*.* docs/data/*/* docs/examples/* docs/results/*.tsv)

MACHINE := $(shell $(CC) -dumpmachine 2> /dev/null)
ifeq ($(MACHINE)$(filter clean dist help uninstall,$(MAKECMDGOALS)),)
$(if $(shell command -v '$(firstword $(CC))'),,$(error CC=$(CC): there is no such compiler))
endif
# ---- for another processor than this machine's (CC=aarch64-linux-gnu-gcc): the compiler's own ar, objcopy and
# strip, and what runs the tools: the system itself, as where binfmt_misc knows qemu, or qemu
CPU := $(firstword $(subst -, ,$(MACHINE)))
ifneq ($(filter-out $(shell uname -m),$(CPU)),)
ifeq ($(origin AR),default)
AR := $(shell $(CC) -print-prog-name=ar)
endif
OBJCOPY ?= $(shell $(CC) -print-prog-name=objcopy)
STRIP ?= $(shell $(CC) -print-prog-name=strip)
EMULATOR ?= $(FOUND_EMULATOR)
# -L only without a C library in the system's own folders: a loader and a library of two builds do not fit.
find_emulator = $(shell out=$$(mktemp) || exit; \
    if echo 'int main(void) { return 0; }' | $(CC) $(CFLAGS) $(LDFLAGS) -x c -o "$$out" -; then \
        for run in env qemu-$(CPU) qemu-$(CPU)-static \
                   'qemu-$(CPU) -L /usr/$(MACHINE)' 'qemu-$(CPU)-static -L /usr/$(MACHINE)'; do \
            if $$run "$$out"; then echo "$$run"; break; fi; done; fi 2> /dev/null; rm -f "$$out")
FOUND_EMULATOR = $(eval FOUND_EMULATOR := $$(find_emulator))$(FOUND_EMULATOR)
else
OBJCOPY ?= objcopy
STRIP ?= strip
EMULATOR ?= env
endif

# Kernels are compiled once per instruction set that the compiler targets: the one list of
# them, best first.  lib/kernels/isas.c knows which of them a processor runs.
ISAS := portable
ifneq ($(filter x86_64-%,$(MACHINE)),)
ISAS := amx avx512bf16 avx512 avx2 portable
endif
ifneq ($(filter aarch64-%,$(MACHINE)),)
ISAS := neon portable
endif
# Threads share work in the same way with all of them, and fuzzers look for mistakes of readers.
ifneq ($(filter tsan fuzz cov,$(FLAVOUR)),)
ISAS := portable
endif
ISA_FLAGS_portable =
ISA_FLAGS_neon = # part of every such processor
ISA_FLAGS_avx2 = -mavx2 -mfma
ISA_FLAGS_avx512 = -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma
ISA_FLAGS_avx512bf16 = $(ISA_FLAGS_avx512) -mavx512bf16
ISA_FLAGS_amx = $(ISA_FLAGS_avx512bf16) -mamx-tile -mamx-bf16
ISA_LIST = -DTG_ISAS='$(foreach isa,$(ISAS),X($(isa)))'

ISA_OBJ := $(foreach isa,$(ISAS),$(ISA_SRC:%.c=$(BUILD)/obj/%.$(isa).o))
REF_OBJ := $(foreach real,f32 f64,$(REF_SRC:%.c=$(BUILD)/obj/%.$(real).o))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/obj/%.o) $(REF_OBJ) $(ISA_OBJ)
TOOL_BIN := $(TOOLS:%=$(TOOLS_BUILD)/bin/%)
UNIT_BIN := $(UNIT:%=$(BUILD)/unit/%)

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all unit tiny test check ctest asan tsan races analyze interop bench bench-peers results lint fuzz soak demo images pages install install-strip uninstall dist clean help

# What starts the tools of a build with MPI, for their tests.
ifneq ($(MPI),)
all: $(TOOLS_BUILD)/mpirun
$(TOOLS_BUILD)/mpirun:
	@mkdir -p $(@D)
	$(Q)echo 'mpirun$(if $(filter-out 1,$(MPI)),.$(MPI))' > $@
endif

all: $(TOOL_BIN) $(BUILD)/libtg.a $(BUILD)/libtg.so ## build the library and the tools (the default)

unit: $(UNIT_BIN) ## build the C tests

-include $(shell find $(BUILD)/obj $(if $(MPI),$(TOOLS_BUILD)/obj) -name '*.d' 2>/dev/null)

# ---- rules
# PLAIN: where a build with tiny blocks finds the objects that are the same without them (tests/unit/unit.mk)
COMPILE = $(if $(PLAIN),tests/unit/tiny_cc '$(BUILD)' '$(PLAIN)') $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(COMPILE) -c -o $@ $<

# Sources that are compiled for single and for double precision.
$(BUILD)/obj/%.f32.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$< (float))
	$(Q)$(COMPILE) -DTG_REAL=32 -c -o $@ $<

$(BUILD)/obj/%.f64.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$< (double))
	$(Q)$(COMPILE) -DTG_REAL=64 -c -o $@ $<

ifneq ($(MPI),)
$(TOOLS_BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(COMPILE) -c -o $@ $<

$(TOOLS_BUILD)/obj/cmd/team/%.o: ALL_CPPFLAGS += $(MPI_CFLAGS) -DTEAM_MPI='"$(MPICC)"'
endif

# The version that the tools print names the commit, in a checkout.  The one object that has it is compiled
# anew when it changes.
COMMIT := $(or $(if $(wildcard .git),$(shell git describe --always --abbrev=7 --exclude='*' --dirty 2> /dev/null)),none)
ifneq ($(file < $(BUILD)/commit),$(COMMIT))
.PHONY: $(BUILD)/commit
endif
$(BUILD)/commit:
	@mkdir -p $(@D)
	@echo $(COMMIT) > $@
$(BUILD)/obj/cmd/cli/version.o: $(BUILD)/commit
$(BUILD)/obj/cmd/cli/version.o: ALL_CPPFLAGS += $(if $(filter-out none,$(COMMIT)),-DTG_COMMIT='"$(COMMIT)"')

# The page of tg-attn-view, which becomes part of the program.
$(BUILD)/obj/cmd/tg-attn-view/page.o: $(wildcard cmd/tg-attn-view/page/*)

# The lines that tg-attn-dump prints, for their test and their benchmark.
LINES_OBJ := $(addprefix $(BUILD)/obj/cmd/,cli/words.o lines/columns.o lines/table.o)

define isa_rule
$(BUILD)/obj/%.$(1).o: %.c
	@mkdir -p $$(@D)
	$$(call say,CC,$$< ($(1)))
	$(Q)$$(COMPILE) $$(KERNEL_CFLAGS) -fno-math-errno -fno-trapping-math -ffp-contract=fast $$(UNCHECKED_ISA) $$(ISA_FLAGS_$(1)) -DTG_ISA=$(1) -c -o $$@ $$<
endef
$(foreach isa,$(ISAS),$(eval $(call isa_rule,$(isa))))

# Loops of operations and of updates gain from -O3 as well; with -ffp-contract=off they compute the same.
LOOP_OBJ := $(BUILD)/obj/lib/nn/% $(BUILD)/obj/lib/gpt/muon.o $(BUILD)/obj/lib/train/average.o
$(LOOP_OBJ): ALL_CFLAGS += $(KERNEL_CFLAGS)

$(addprefix $(BUILD)/obj/lib/kernels/,isas.o kernels.o text_kernels.o) $(BUILD)/obj/tests/bench/bench.o: ALL_CPPFLAGS += $(ISA_LIST)

$(BUILD)/bench: $(BUILD)/obj/tests/bench/bench.o $(addprefix $(BUILD)/obj/tests/bench/,bpe.o dump.o heads.o split.o) \
    $(LINES_OBJ) $(ISAS:%=$(BUILD)/obj/tests/bench/peak.%.o) $(BUILD)/libtg.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LDFLAGS) $(LIBS)

$(BUILD)/libtg.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/libtg.so: $(LIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -shared $(GC_SECTIONS) -Wl,-soname,libtg.so.$(SONAME) -o $@ $^ $(ALL_LDFLAGS) $(LIBS)

$(TOOLS_BUILD)/libcli.a: $(CLI_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

define tool_rule
$(TOOLS_BUILD)/bin/$(1): $$(patsubst %.c,$(BUILD)/obj/%.o,$$(wildcard cmd/$(1)/*.c)) $(TOOLS_BUILD)/libcli.a $(BUILD)/libtg.a
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$(Q)$$(CC) $$(HARD_TOOL) $$(LIGHT_TOOL) $$(ALL_CFLAGS) $$(GC_SECTIONS) -o $$@ $$^ $$(ALL_LDFLAGS) $$(LIBS) $$(MPI_LIBS)
endef
$(foreach tool,$(TOOLS),$(eval $(call tool_rule,$(tool))))

UNIT_COMMON := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tests/unit/check.c tests/unit/ref_*.c) \
    $(patsubst %,tests/unit/%.c,files read_tokenizer small_model))

$(BUILD)/unit/%: $(BUILD)/obj/tests/unit/%.o $(UNIT_COMMON) $(BUILD)/libtg.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(ALL_LDFLAGS) $(LIBS) $(UNIT_LDFLAGS)

-include tests/unit/unit.mk
-include tests/faults/faults.mk

# ---- fuzzers: one program per tests/fuzz/fuzz_NAME.c, with libFuzzer (VARIANT=fuzz), or with a driver that
# replays inputs.  Files are "mapped" into exact heap blocks, and streams come in pieces (tests/fuzz/input.c).
FUZZERS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_DRIVER := tests/fuzz/replay.c tests/fuzz/failing_alloc.c
FUZZ_BIN := $(FUZZERS:%=$(BUILD)/fuzz/%)
FUZZ_HELP := $(filter-out tests/fuzz/fuzz_% $(FUZZ_DRIVER),$(wildcard tests/fuzz/*.c)) \
             $(patsubst %,tests/unit/%.c,check deflated failing ref_blocks ref_bpe ref_gpt ref_split ref_spm small_model torch_zip)
FUZZ_MAIN := $(if $(filter fuzz,$(FLAVOUR)),,$(FUZZ_DRIVER:%.c=$(BUILD)/obj/%.o))
FUZZ_TG := $(BUILD)/$(if $(or $(LTO),$(filter fuzz,$(FLAVOUR))),libtg,libtg-failing).a
FUZZ_LDFLAGS = $(foreach call,mmap munmap madvise read __read_chk,-Wl,--wrap=$(call))

# libFuzzer is not to follow the slow references: that would take most of the time.
COMMA := ,
ifeq ($(FLAVOUR),fuzz)
$(BUILD)/obj/tests/unit/%.o: SANITIZE := $(subst fuzzer-no-link$(COMMA),,$(SANITIZE))
endif

$(BUILD)/libfuzz.a: $(FUZZ_HELP:%.c=$(BUILD)/obj/%.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# The library, with allocations that can be made to fail (tests/fuzz/failing_alloc.c).  objcopy cannot rename
# calls in objects of -flto.
$(BUILD)/libtg-failing.a: $(BUILD)/libtg.a
	$(call say,OBJCOPY,$@)
	$(Q)$(OBJCOPY) $(foreach call,malloc calloc realloc aligned_alloc strdup,--redefine-sym $(call)=failing_$(call)) $< $@

$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(FUZZ_MAIN) $(BUILD)/libfuzz.a $(TOOLS_BUILD)/libcli.a $(FUZZ_TG)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(if $(FUZZ_MAIN),,-fsanitize=fuzzer) -o $@ $^ $(ALL_LDFLAGS) $(LIBS) $(FUZZ_LDFLAGS)

# ---- completions for shells, which the tools make of their options
# SHELLS: for which
SHELLS ?= bash zsh fish
BASHCOMPDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR ?= $(PREFIX)/share/zsh/site-functions
FISHCOMPDIR ?= $(PREFIX)/share/fish/vendor_completions.d
COMP_DIR_bash = $(BASHCOMPDIR)
COMP_DIR_zsh = $(ZSHCOMPDIR)
COMP_DIR_fish = $(FISHCOMPDIR)
# under the names by which the shells find them
COMP_bash = $(TOOLS)
COMP_zsh = $(TOOLS:%=_%)
COMP_fish = $(TOOLS:%=%.fish)

define completion_rule
all install-completions: $$(COMP_$(1):%=$(TOOLS_BUILD)/completions/$(1)/%)

$(TOOLS_BUILD)/completions/$(1)/$(2): $(TOOLS_BUILD)/bin/%
	@mkdir -p $$(@D)
	$(Q)$$(EMULATOR) $$< --help=$(1) > $$@
endef
COMPLETED := $(if $(SHELLS),$(if $(EMULATOR),$(SHELLS)))
$(if $(filter bash,$(COMPLETED)),$(eval $(call completion_rule,bash,%)))
$(if $(filter zsh,$(COMPLETED)),$(eval $(call completion_rule,zsh,_%)))
$(if $(filter fish,$(COMPLETED)),$(eval $(call completion_rule,fish,%.fish)))

ifneq ($(COMPLETED),$(SHELLS))
.PHONY: no-completions
all: no-completions
no-completions: $(TOOL_BIN)
	@echo 'no completions for shells: this machine runs no tools for $(CPU); EMULATOR names what does, such as qemu-$(CPU)'
endif

.PHONY: install-completions uninstall-completions
install: install-completions
install-completions:
	@for shell in $(foreach s,$(COMPLETED),'$(s) $(DESTDIR)$(COMP_DIR_$(s))'); do \
	    set -- $$shell && $(INSTALL) -d "$$2" && \
	    $(INSTALL) -m 644 $(TOOLS_BUILD)/completions/$$1/* "$$2" || exit 1; done

uninstall: uninstall-completions
uninstall-completions:
	rm -f $(foreach s,$(SHELLS),$(COMP_$(s):%=$(DESTDIR)$(COMP_DIR_$(s))/%))

# ---- checks
test: all unit tiny fuzzers $(BUILD)/bench ## run all tests: five to twelve minutes on two processors
	@TG_BUILD='$(abspath $(BUILD))' tests/run $(BATSFLAGS) $(BATS)

check: all unit fuzzers $(if $(filter asan,$(FLAVOUR)),tiny,$(BUILD)/bench) ## the C tests and the quick ones of the others, in one or two minutes; VARIANT=asan: what CI does
	@TG_BUILD='$(abspath $(BUILD))' TG_QUICK=1 tests/run $(CHECK_BATS) $(if $(filter asan,$(FLAVOUR)),$(CHECK_UNIT),$(QUICK_UNIT))

ctest: unit $(if $(NO_TINY),,tiny) ## the C tests alone; NO_TINY=1: not those with tiny blocks
	@TG_BUILD='$(abspath $(BUILD))' tests/run $(ALL_UNIT)

# The bats files that have long versions ask for them by soak() (tests/helper.bash).
SOAK_SECONDS = 600
soak: all unit tiny fuzzers ## the long versions of tests that have one, then SOAK_SECONDS of fuzzing a target
	@TG_BUILD='$(abspath $(BUILD))' TG_SOAK=1 tests/run $(shell grep -lw soak tests/*.bats)
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=$(SOAK_SECONDS)

asan: ## build with the address and undefined-behaviour sanitizers, and run all tests
	$(MAKE) VARIANT=asan test

# It needs the addresses that programs have without random ones (setarch -R), on most kernels.
tsan: ## build with the thread sanitizer, and run what shares work among threads
	$(MAKE) VARIANT=tsan races

# Each MPI that is installed, in a separate build.
MPIS = $(or $(foreach mpi,mpich openmpi,$(if $(shell command -v mpicc.$(mpi)),$(mpi))),$(if $(shell command -v mpicc),1))
mpi: ## build with each MPI that is installed, and run what several processes do; MPIS=mpich picks one
	@for mpi in $(or $(MPIS),none); do \
	    [ $$mpi != none ] || { echo "no MPI: there is no mpicc"; exit 1; }; \
	    $(MAKE) --no-print-directory MPI=$$mpi mpi-test || exit 1; done

.PHONY: mpi mpi-test
mpi-test: all
	@TG_BUILD='$(abspath $(TOOLS_BUILD))' tests/run tests/mpi-failures.bats tests/mpi.bats tests/network.bats

# Builds for other processors, in $(BUILDS)/cross.  qemu takes ten to twenty times as long, so of the bats files
# those are left out that train models before they begin; CROSS_LEAST=1, as in CI, is a minute or two of a processor.
CROSS = aarch64 riscv64
CROSS_LEAST =
CROSS_BATS = $(addprefix tests/,$(addsuffix .bats,$(if $(CROSS_LEAST),cross tg-init,cross tg-attn-dump \
             tg-attn-dump-trace tg-attn-view tg-bpe tg-convert tg-eval tg-info tg-init tg-patch tg-sample tg-tokenize tg-train)))
LEAST_UNIT = test_kernels test_nn test_model
CROSS_UNIT = $(if $(CROSS_LEAST),$(call with_isa,$(BUILD),best,$(LEAST_UNIT)),$(CHECK_UNIT))
cross: all ## build for aarch64 and riscv64, and run the C tests and the tools' quick ones with qemu; CROSS=aarch64 picks one
	@for cpu in $(CROSS); do \
	    MAKE='$(MAKE)' tests/cross $$cpu '$(abspath $(BUILDS))/cross' '$(abspath $(TOOLS_BUILD))/bin' || exit; done

# What tests/cross makes with another compiler, and runs.
.PHONY: cross cross-build cross-check
cross-build: all $(if $(CROSS_LEAST),$(LEAST_UNIT:%=$(BUILD)/unit/%),unit tiny)
cross-check:
	@TG_BUILD='$(abspath $(BUILD))' TG_QUICK=1 TG_EMULATED=1 tests/run $(CROSS_BATS) $(CROSS_UNIT)

races: $(TOOL_BIN) $(BUILD)/unit/test_threads
	@fixed="setarch $$(uname -m) -R"; $$fixed true 2> /dev/null || fixed=; \
	TG_BUILD='$(abspath $(BUILD))' TSAN_OPTIONS=die_after_fork=0 $$fixed tests/run tests/races-models.bats tests/races.bats '$(BUILD)/unit/test_threads'

-include tests/lint.mk

# Fuzzers have a separate build, with tiny blocks, so that short inputs reach the edges of every block.
FUZZ_SECONDS = 60
FUZZ =
FUZZ_FLAGS =
BUGS =
make_fuzz = $(MAKE) --no-print-directory VARIANT='fuzz tiny' CC=clang CFLAGS='-O1 -g' KERNEL_CFLAGS= \
            BUILD='$(BUILDS)/fuzz-clang' fuzzers
make_cov = $(MAKE) --no-print-directory VARIANT='cov tiny' CC=clang CFLAGS='-O1 -g' KERNEL_CFLAGS= BUILD='$(BUILDS)/cov-clang'
# the tests of files
COVERAGE_BATS = $(addprefix tests/,$(addsuffix .bats,archive bad-files cli crash damage faults gguf ids interop mistakes \
                numbers text tokenizers torch vocabularies)) $(filter-out %-page.bats,$(wildcard tests/tg-*.bats))
.PHONY: fuzzers fuzz-bugs fuzz-corpus fuzz-coverage coverage
fuzzers: $(FUZZ_BIN)

fuzz: ## feed damaged files to their readers, FUZZ_SECONDS each (clang); FUZZ='archive json' picks readers
	+@$(make_fuzz)
	@tests/fuzz/run $(FUZZ_FLAGS) '$(BUILDS)/fuzz-clang' $(FUZZ_SECONDS) $(FUZZ)

fuzz-bugs: ## plant known bugs, and show that the fuzzers find each within a minute; BUGS='01 07' picks bugs
	+@$(make_fuzz)
	@tests/fuzz/plant '$(BUILDS)/fuzz-clang' 60 $(BUGS)

fuzz-corpus: all ## make the corpus in tests/fuzz/corpus again: other programs' files, FUZZ_SECONDS of fuzzing, the fewest
	+@$(make_fuzz)
	@tests/fuzz/minimize '$(TOOLS_BUILD)/bin' '$(BUILDS)/fuzz-clang' $(FUZZ_SECONDS) $(FUZZ)

fuzz-coverage: ## which branches of the readers the corpus reaches (clang, llvm-cov)
	+@$(make_cov) fuzzers
	@tests/coverage '$(BUILDS)/cov-clang'

coverage: ## which branches of the readers, writers and tokenizers the tests reach; fails if one is not without a reason, or a reason is stale
	+@$(make_cov) fuzzers all unit
	@tests/coverage '$(BUILDS)/cov-clang' $(COVERAGE_BATS)

interop: all ## compare GPT-2 with other projects' libraries, in TG_JUDGE_PYTHON or set up from PyPI (INTEROP=--quick)
	@tests/interop '$(abspath $(BUILD))' $(INTEROP)

bench: $(BUILD)/bench ## measure speed against the processor's limits; BENCH=words picks rows, BENCH_FORMAT=tsv
	@$< $(BENCH)

results: all ## train the models of docs/results.md for the text TEXT=FILE again, and compare their bytes; RESULTS='ROW SEED...'
	@PATH='$(abspath $(TOOLS_BUILD))/bin':"$$PATH" tests/bench/results docs/results.md '$(TEXT)' $(RESULTS)

bench-peers: all $(BUILD)/bench ## the same in turns with PyTorch and llama.cpp, in that Python; PEERS='words, --turns N'
	@tests/bench/peers '$(abspath $(BUILD))' $(PEERS)

demo: all ## train a small model, look at its attention, let it write; TEXT=file for your own text
	@PATH='$(abspath $(BUILD))/bin':"$$PATH" docs/demo '$(TEXT)'

images: all ## make the pictures in docs/images again
	@PATH='$(abspath $(BUILD))/bin':"$$PATH" docs/make-files docs/images docs/images

pages: all ## make the pages of docs/pages, which the guides link to, for a browser
	@PATH='$(abspath $(BUILD))/bin':"$$PATH" docs/make-files docs/pages docs/pages

# ---- installation
# put MODE,FILES,DIRECTORY: FILES keep their folders
put = @for f in $(2); do \
	    $(INSTALL) -d "$(DESTDIR)$(3)/$$(dirname $$f)" && $(INSTALL) -m $(1) $$f "$(DESTDIR)$(3)/$$f" || exit 1; done
PC_VALUES = -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' -e 's|@VERSION@|$(VERSION)|'

install: all ## install the tools, the library, its headers, the man pages and the guides (DESTDIR, PREFIX, ...)
	$(INSTALL) -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)/tg
	$(INSTALL) -m 755 $(TOOL_BIN) $(DESTDIR)$(BINDIR)
	$(INSTALL) -m 644 $(BUILD)/libtg.a $(DESTDIR)$(LIBDIR)
	$(INSTALL) -m 755 $(BUILD)/libtg.so $(DESTDIR)$(LIBDIR)/libtg.so.$(VERSION)
	ln -sf libtg.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libtg.so.$(SONAME)
	ln -sf libtg.so.$(SONAME) $(DESTDIR)$(LIBDIR)/libtg.so
	sed $(PC_VALUES) lib/tg.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/tg.pc
	$(INSTALL) -m 644 lib/tg.h $(DESTDIR)$(INCLUDEDIR)/tg/tg.h
	$(call put,644,$(HEADERS),$(INCLUDEDIR)/tg)
	$(call put,644,$(DOCS),$(DOCDIR))
	@for page in $(MAN); do \
	    section=$(DESTDIR)$(MANDIR)/man$${page##*.} && $(INSTALL) -d "$$section" && \
	    $(INSTALL) -m 644 $$page "$$section" || exit 1; done

install-strip: install ## the same without what debuggers need, a tenth of the size
	$(STRIP) $(TOOLS:%=$(DESTDIR)$(BINDIR)/%)
	$(STRIP) --strip-unneeded $(DESTDIR)$(LIBDIR)/libtg.so.$(VERSION)
	$(STRIP) --strip-debug $(DESTDIR)$(LIBDIR)/libtg.a

# what install makes; folders that only it makes
INSTALLED = $(TOOLS:%=$(BINDIR)/%) $(INCLUDEDIR)/tg/tg.h $(HEADERS:%=$(INCLUDEDIR)/tg/%) $(DOCS:%=$(DOCDIR)/%) \
    $(addprefix $(LIBDIR)/,libtg.a libtg.so libtg.so.$(SONAME) libtg.so.$(VERSION) pkgconfig/tg.pc) \
    $(foreach page,$(notdir $(MAN)),$(MANDIR)/man$(subst .,,$(suffix $(page)))/$(page))
OWN_FOLDERS = $(INCLUDEDIR)/tg $(DOCDIR)

uninstall: ## remove what install put there
	rm -f $(INSTALLED:%=$(DESTDIR)%)
	find $(OWN_FOLDERS:%=$(DESTDIR)%) -depth -type d -empty -exec rmdir {} \; 2> /dev/null || true

# ---- a release
DIST = tg-$(VERSION)
# In a checkout the files that git knows, and the last commit's time; elsewhere all files, and this one's time.
DIST_FILES = if [ -e .git ]; then git ls-files -z; else find . '(' -type f -o -type l ')' ! -path './build/*' -print0; fi
DIST_TIME = if [ -e .git ]; then git log -1 --format=%ct; else stat -c %Y Makefile; fi

dist: ## make build/tg-VERSION.tar.gz, which builds and tests without git
	@[ ! -e .git ] || git --version > /dev/null || { echo 'make dist: this is a checkout, and git is missing'; exit 1; } >&2
	@mkdir -p $(BUILDS)
	@$(DIST_FILES) | sed -z 's|^\./||' | LC_ALL=C sort -z | \
	    tar --null -T - --transform 's|^|$(DIST)/|S' --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw \
	    --mtime="@$${SOURCE_DATE_EPOCH:-$$($(DIST_TIME))}" -cf - | gzip -n9 > $(BUILDS)/$(DIST).tar.gz
	@echo $(BUILDS)/$(DIST).tar.gz

clean: ## remove everything that was built
	rm -rf $(if $(filter file,$(origin BUILD)),$(BUILDS),$(addprefix $(BUILD)/,obj bin completions unit grams fuzz faults bench libfuzz.a libtg-failing.a libtg.a libtg.so libcli.a) $(TINY) $(wildcard $(BUILD)-mpi*))

# What somebody new here needs comes first.
FIRST = all demo check test install
help: ## this list
	@awk -F ':.*## ' -v first='$(FIRST)' 'BEGIN { n = split(first, name, " ") } \
	    /^[a-z-]+:.*## / { line[$$1] = sprintf("  make %-13s %s\n", $$1, $$2); if (index(" " first " ", " " $$1 " ") == 0) name[++n] = $$1 } \
	    /^## / { sub(/^## /, ""); variables = variables $$0 "\n" } \
	    END { print "Targets:"; for (i = 1; i <= n; i++) printf "%s", line[name[i]]; printf "\n%s", variables }' \
	    Makefile $(wildcard tests/*.mk)

endif # here
