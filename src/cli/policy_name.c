#include "cli/policy_name.h"

#include <cotenant/policy.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "text/nearest.h"

int cot_policy_name_check(const char *name, struct cot_error *err)
{
	char hint[COT_NEAREST_HINT_MAX];
	struct cot_nearest near = {.word = name};
	unsigned i;

	if (!strcmp(name, "auto") || cot_policy_find(name))
		return 0;
	for (i = 0; i < cot_n_policies; i++)
		cot_nearest_try(&near, cot_policies[i]->name);
	return cot_error_set(err, -EINVAL,
			     "unknown policy '%s'%s; 'cotenant policy' lists them, and auto is "
			     "what the configuration says",
			     name, cot_nearest_hint(&near, hint));
}

void cot_policy_name_command(const char *name, struct cot_msg_command *ret)
{
	*ret = (struct cot_msg_command){.what = COT_COMMAND_POLICY};
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
}
