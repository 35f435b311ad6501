/*
 * --set KEY=VALUE of commands that play a scenario: keys that get other values than the file's.
 */
#ifndef COT_CLI_SETTINGS_H
#define COT_CLI_SETTINGS_H

#include <argp.h>

#include "text/yaml.h"

#define COT_CLI_SETTINGS_MAX 16u

/* Zeroes at first. */
struct cot_cli_settings {
	struct cot_yaml_setting of[COT_CLI_SETTINGS_MAX];
	unsigned n;
};

/* A row of options. */
#define COT_CLI_SET(key, group)                                                                   \
	{                                                                                         \
		"set", key, "KEY=VALUE", 0,                                                       \
			"Play with this value of a key, such as apps.0.p99=1ms; may be repeated", \
			group                                                                     \
	}

/* Keeps a copy of `text`. A mistake in its form ends the program, as argp_error(). */
void cot_cli_settings_add(struct cot_cli_settings *s, const char *text, struct argp_state *state);
void cot_cli_settings_finish(struct cot_cli_settings *s);

#endif
