/*
 * Scenario files: whatever the bytes are, the reader gives a scenario whose numbers are within
 * their limits, or one sentence; also with a setting, which the input may begin with.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/scenario_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

#define SETTING_MAX 256u

static void check_program(const struct cot_program *p)
{
	uint32_t i;

	REQUIRE(p->n_steps >= 1 && p->n_steps <= COT_MAX_STEPS);
	REQUIRE(p->n_kernels <= COT_MAX_KERNELS);
	for (i = 0; i < p->n_steps; i++)
		if (p->steps[i].kind == COT_STEP_KERNEL) {
			REQUIRE(p->steps[i].kernel < p->n_kernels);
			REQUIRE(p->steps[i].launches >= 1);
		}
	for (i = 0; i < p->n_kernels; i++) {
		const struct cot_kernel *k = &p->kernels[i];

		REQUIRE(k->n_blocks >= 1 && k->n_blocks <= COT_MAX_BLOCKS);
		REQUIRE(k->blocks_per_sm >= 1 && k->blocks_per_sm <= COT_MAX_BLOCKS_PER_SM);
		REQUIRE(k->block_ps >= 1);
	}
}

#define SETTING "#set "

/* "#set PATH=VALUE" in the first line, a comment of YAML: a setting for the file. False: none. */
static bool read_setting(const char *text, char *path, char **ret_value)
{
	size_t n = strcspn(text, "\n");

	if (strncmp(text, SETTING, strlen(SETTING)) != 0 || n >= SETTING_MAX)
		return false;
	(void)snprintf(path, SETTING_MAX, "%.*s", (int)(n - strlen(SETTING)),
		       text + strlen(SETTING));
	*ret_value = strchr(path, '=');
	if (!*ret_value)
		return false;
	*(*ret_value)++ = '\0';
	return true;
}

static int parse(const uint8_t *data, size_t size, struct cot_scenario **ret_sc,
		 struct cot_error *err)
{
	char path[SETTING_MAX], first[SETTING_MAX] = "", *value;
	struct cot_yaml_setting setting = {.path = path};
	const struct cot_scenario_options options = {.settings = &setting, .n_settings = 1};

	memcpy(first, data, size < sizeof(first) - 1 ? size : sizeof(first) - 1);
	if (!read_setting(first, path, &value))
		return cot_scenario_parse("fuzz", data, size, NULL, ret_sc, err);
	setting.value = value;
	return cot_scenario_parse("fuzz", data, size, &options, ret_sc, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cot_error err = {""};
	struct cot_scenario *sc = NULL;
	uint32_t i;
	int rc = parse(data, size, &sc, &err);

	if (rc) {
		REQUIRE(rc == -EINVAL && !sc && err.text[0] && !strchr(err.text, '\n'));
		return 0;
	}
	REQUIRE(sc->n_apps >= 1 && sc->n_apps <= COT_MAX_APPS);
	REQUIRE(sc->stop_runs || sc->stop_ps);
	for (i = 0; i < sc->n_apps; i++) {
		REQUIRE(sc->apps[i].name[0] && sc->apps[i].context < sc->n_apps);
		REQUIRE(sc->apps[i].weight >= 1 && sc->apps[i].weight <= 10000);
		REQUIRE(sc->apps[i].block_hint_us <= 1000000000);
		check_program(&sc->apps[i].program);
	}
	cot_scenario_destroy(sc);
	return 0;
}
