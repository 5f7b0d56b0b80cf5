# tg: small Unix tools to train, inspect and sample small GPT models on a CPU.
# `make help` lists the targets; V=1 shows the commands.

VERSION = 0.1.0

# ---- what the user may set
CC ?= cc
ifeq ($(origin CC),default)
CC = gcc
endif
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
INSTALL ?= install
TEXT ?=
WERROR ?=

# ---- a build directory for each set of flags, so that objects never mix
VARIANT ?= release
ifeq ($(VARIANT)$(CC)$(CFLAGS)$(CPPFLAGS)$(LDFLAGS)$(WERROR),releasegcc-O2 -g)
BUILD := build/release
else ifneq ($(VARIANT),release)
BUILD := build/$(VARIANT)-$(notdir $(CC))
else
BUILD := build/$(notdir $(CC))-$(shell printf '%s' '$(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $(WERROR)' | cksum | cut -d' ' -f1)
endif

ifeq ($(VARIANT),asan)
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif

WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
           -Wmissing-prototypes -Wvla -Wdouble-promotion -Wformat=2 $(if $(WERROR),-Werror)
ALL_CPPFLAGS = -I. -D_POSIX_C_SOURCE=200809L -DTG_VERSION='"$(VERSION)"' $(CPPFLAGS)
ALL_CFLAGS = -std=c11 -fopenmp -fPIC -fvisibility=hidden -ffp-contract=off $(WARNINGS) $(SANITIZE) $(CFLAGS)
ALL_LDFLAGS = -fopenmp $(SANITIZE) $(LDFLAGS)
LIBS = -lz -lm

Q = $(if $(V),,@)
say = $(if $(V),,@printf '  %-8s %s\n' '$(1)' '$(2)')

# ---- files
TOOLS := $(patsubst cmd/%.c,%,$(wildcard cmd/tg-*.c))
CMD_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out cmd/tg-%,$(wildcard cmd/*.c)))
LIB_SRC := $(filter-out lib/kernels/isa/% lib/nn/ref/%,$(wildcard lib/*/*.c formats/*.c))
REF_SRC := $(wildcard lib/nn/ref/*.c)
ISA_SRC := $(wildcard lib/kernels/isa/*.c)
UNIT := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
HEADERS := lib/tg.h $(wildcard lib/*/*.h lib/nn/ref/*.h formats/*.h)
MAN1 := $(wildcard docs/man/*.1)
MAN := $(wildcard docs/man/*.[1-9])

# Kernels are compiled once per instruction set that the compiler targets.
MACHINE := $(shell $(CC) -dumpmachine)
ISAS := portable
ifneq ($(filter x86_64-%,$(MACHINE)),)
ISAS += avx2 avx512
endif
ISA_FLAGS_portable =
ISA_FLAGS_avx2 = -mavx2 -mfma -mf16c
ISA_FLAGS_avx512 = -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma

ISA_OBJ := $(foreach isa,$(ISAS),$(ISA_SRC:%.c=$(BUILD)/obj/%.$(isa).o))
REF_OBJ := $(REF_SRC:%.c=$(BUILD)/obj/%.f32.o) $(REF_SRC:%.c=$(BUILD)/obj/%.f64.o)
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/obj/%.o) $(REF_OBJ) $(ISA_OBJ)
TOOL_BIN := $(TOOLS:%=$(BUILD)/bin/%)
UNIT_BIN := $(UNIT:%=$(BUILD)/unit/%)

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all unit test asan bench demo lint fuzz install uninstall clean help

all: $(TOOL_BIN) $(BUILD)/libtg.a $(BUILD)/libtg.so ## build the library and the tools (the default)

unit: $(UNIT_BIN) ## build the C tests

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

# ---- rules
COMPILE = $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(COMPILE) -c -o $@ $<

# The reference operations, in single and in double precision.
$(BUILD)/obj/%.f32.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$< (float))
	$(Q)$(COMPILE) -DTG_REAL=32 -c -o $@ $<

$(BUILD)/obj/%.f64.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$< (double))
	$(Q)$(COMPILE) -DTG_REAL=64 -c -o $@ $<

define isa_rule
$(BUILD)/obj/%.$(1).o: %.c
	@mkdir -p $$(@D)
	$$(call say,CC,$$< ($(1)))
	$(Q)$$(COMPILE) -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast $$(ISA_FLAGS_$(1)) -DTG_ISA=$(1) -c -o $$@ $$<
endef
$(foreach isa,$(ISAS),$(eval $(call isa_rule,$(isa))))

$(BUILD)/obj/lib/kernels/kernels.o: ALL_CPPFLAGS += $(ISAS:%=-DTG_HAVE_%)

$(BUILD)/libtg.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/libtg.so: $(LIB_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -shared -Wl,-soname,libtg.so.0 -o $@ $^ $(ALL_LDFLAGS) $(LIBS)

$(BUILD)/bin/%: $(BUILD)/obj/cmd/%.o $(CMD_OBJ) $(BUILD)/libtg.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LDFLAGS) $(LIBS)

$(BUILD)/unit/%: $(BUILD)/obj/tests/unit/%.o $(BUILD)/obj/tests/unit/check.o $(BUILD)/libtg.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LDFLAGS) $(LIBS) $(UNIT_LDFLAGS)

clean: ## remove everything that was built
	rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
