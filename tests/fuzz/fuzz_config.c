/*
 * cotenantd.conf: whatever the bytes are, the reader gives a configuration whose numbers are within
 * their limits, or one sentence.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static void check_slice(uint32_t us)
{
	REQUIRE(us >= COT_SLICE_US_MIN && us <= COT_SLICE_US_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cot_config config;
	struct cot_error err = {""};
	uint32_t i;
	int rc = cot_config_parse("fuzz", data, size, &config, &err);

	if (rc) {
		REQUIRE(rc == -EINVAL && err.text[0] && !strchr(err.text, '\n'));
		return 0;
	}
	REQUIRE(config.policy && config.mps_program[0]);
	REQUIRE(strlen(config.mps_program) < sizeof(config.mps_program));
	check_slice(config.numbers.latency_slice_us);
	check_slice(config.numbers.batch_slice_us);
	check_slice(config.numbers.equal_slice_us);
	REQUIRE(config.numbers.turn_ns && config.numbers.turn_ns <= config.numbers.cycle_ns);
	REQUIRE(config.latency.n_uids + config.latency.n_gids <= COT_CONFIG_NAMES_MAX);
	REQUIRE(config.batch.n_uids + config.batch.n_gids <= COT_CONFIG_NAMES_MAX);
	REQUIRE(config.n_targets <= COT_CONFIG_TARGETS_MAX);
	for (i = 0; i < config.n_targets; i++) {
		const struct cot_config_target *t = &config.targets[i];

		REQUIRE(t->target.kind && cot_target_is_valid(t->target));
		REQUIRE(memchr(t->name, '\0', sizeof(t->name)) && (t->name[0] || !t->any_class));
		REQUIRE(t->any_class || cot_target_suits(t->target.kind, t->cls));
	}
	REQUIRE(config.max_weight >= COT_WEIGHT_MIN && config.max_weight <= COT_WEIGHT_MAX);
	return 0;
}
