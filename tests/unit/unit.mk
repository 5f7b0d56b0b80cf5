# Programs that the bats tests use, and what single C tests need.

unit: $(BUILD)/unit/make_archive $(BUILD)/unit/list_archive

# The test counts allocations and makes one of them fail.
$(BUILD)/unit/test_archive: UNIT_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc \
                                           -Wl,--wrap=inflateInit2_,--wrap=deflateInit2_

# A family of models has its steps in both precisions.
$(BUILD)/unit/test_family: $(BUILD)/obj/tests/unit/family_parallel.f32.o $(BUILD)/obj/tests/unit/family_parallel.f64.o
