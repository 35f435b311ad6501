#include "cli/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void cot_cli_settings_add(struct cot_cli_settings *s, const char *text, struct argp_state *state)
{
	const char *equals = strchr(text, '=');
	char *path, *value;

	if (!equals || equals == text || !equals[1])
		argp_error(state, "--set is '%s'; expected KEY=VALUE", text);
	if (s->n == COT_CLI_SETTINGS_MAX)
		argp_error(state, "more than %u keys to --set", COT_CLI_SETTINGS_MAX);
	path = strdup(text);
	if (!path)
		argp_failure(state, 1, ENOMEM, "--set");
	value = strchr(path, '=');
	*value++ = '\0';
	s->of[s->n++] = (struct cot_yaml_setting){path, value};
}

/* The value lies in its path's memory. */
void cot_cli_settings_finish(struct cot_cli_settings *s)
{
	while (s->n)
		free((char *)s->of[--s->n].path);
}
