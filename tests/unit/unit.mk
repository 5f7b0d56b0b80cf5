# Programs that the bats tests use, and what single C tests need.

unit: $(BUILD)/unit/make_archive $(BUILD)/unit/list_archive $(BUILD)/unit/train_alone

# The test counts allocations and makes one of them fail.
$(BUILD)/unit/test_archive: UNIT_LDFLAGS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc \
                                           -Wl,--wrap=inflateInit2_,--wrap=deflateInit2_
