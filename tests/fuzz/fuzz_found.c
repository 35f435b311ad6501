/*
 * The environment of a process: whatever the bytes are, what is read from it is within its limits.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/found.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of just this size, so that a sanitizer sees a byte read beyond. */
	char *block = malloc(size ? size : 1);
	struct cot_found f;

	if (!block)
		return 0;
	if (size)
		memcpy(block, data, size);
	if (cot_found_parse(block, size, "/s", &f)) {
		REQUIRE(f.id && f.id <= INT32_MAX);
		REQUIRE(f.weight >= COT_WEIGHT_MIN && f.weight <= COT_WEIGHT_MAX);
		REQUIRE(f.block_us <= COT_BLOCK_US_MAX && f.pace_us <= COT_PACE_US_MAX);
		REQUIRE(cot_proto_is_share(f.quota) && cot_proto_is_share(f.reserve));
		REQUIRE(cot_target_is_valid(f.target) && cot_target_suits(f.target.kind, f.cls));
		REQUIRE(f.is_pool || !f.shared);
		REQUIRE(memchr(f.name, '\0', sizeof(f.name)) && memchr(f.gpu, '\0', sizeof(f.gpu)));
		REQUIRE(memchr(f.pipe, '\0', sizeof(f.pipe)));
	}
	free(block);
	return 0;
}
