# What tests/faults.bats and tests/crash.bats preload and run.  The library knows the registers of x86-64 and
# glibc's names for its allocations, and the sanitizers bring their own: elsewhere those tests are skipped.
ifneq ($(filter x86_64-%linux-gnu,$(MACHINE)),)
ifneq ($(FLAVOUR),asan)
unit: $(BUILD)/faults/sweep $(BUILD)/faults/preload.so
endif
endif

FAULTS = -std=c11 -D_XOPEN_SOURCE=700 -I. $(WARNINGS) -O2 -g

$(BUILD)/faults/preload.so: tests/faults/preload.c tests/faults/plan.h
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(FAULTS) -fPIC -shared -fvisibility=hidden -o $@ $< -ldl

$(BUILD)/faults/sweep: $(addprefix tests/faults/,sweep.c judge.c trial.c snapshot.c calls.c) $(wildcard tests/faults/*.h) | $(BUILD)/faults/preload.so
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(FAULTS) -o $@ $(filter %.c,$^) -lm
