/*
 * cotenant policy: what the policies are and which is at work; another one, while programs run.
 */
#include <argp.h>
#include <cotenant/policy.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/policy_name.h"
#include "cli/show.h"
#include "cli/target.h"

struct arguments {
	const char *name; /* NULL: show */
	const char *json;
};

enum { KEY_JSON = 256 };

static const struct argp_option options[] = {
	COT_CLI_JSON(KEY_JSON, 0),
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_JSON:
		a->json = arg ? arg : "-";
		return 0;
	case ARGP_KEY_ARG:
		if (a->name)
			argp_error(state, "one policy at a time; '%s' is one too many", arg);
		a->name = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- change ---- */

static int change(const struct arguments *a)
{
	struct cot_msg_command command;
	struct cot_error err;

	if (cot_policy_name_check(a->name, &err) < 0) {
		cot_cli_complain("%s", err.text);
		return COT_EXIT_USAGE;
	}
	cot_policy_name_command(a->name, &command);
	return cot_target_send(&command, a->json);
}

/* ---- show ---- */

static json_t *json_policies(const char *at_work)
{
	json_t *list = json_array();
	unsigned i;

	for (i = 0; i < cot_n_policies; i++) {
		const struct cot_policy_ops *p = cot_policies[i];

		(void)json_array_append_new(list,
					    json_pack("{s:s, s:b, s:b, s:s}", "name", p->name,
						      "pools", p->wants_pools ? 1 : 0, "at_work",
						      at_work && !strcmp(at_work, p->name),
						      "summary", p->summary));
	}
	return list;
}

/* Of the daemon only what is about the policy. */
static json_t *json_answer(const json_t *daemon)
{
	static const char *const keys[] = {"policy", "policy_wanted", "policy_chosen",
					   "policy_reason", "policy_fault"};
	const char *at_work = json_string_value(json_object_get(daemon, "policy"));
	json_t *o = json_pack("{s:s}", "schema", "cotenant.policy/1");
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(keys); i++) {
		json_t *value = json_object_get(daemon, keys[i]);

		(void)json_object_set_new(o, keys[i], value ? json_incref(value) : json_null());
	}
	(void)json_object_set_new(o, "policies", json_policies(at_work));
	return o;
}

static void print_list(const char *at_work)
{
	static const char *const heads[] = {"", "POLICY", "WHAT IT DOES"};
	struct cot_table *t = cot_table_create_left(heads, COT_ARRAY_LEN(heads));
	unsigned i;

	for (i = 0; i < cot_n_policies; i++) {
		bool works = at_work && !strcmp(at_work, cot_policies[i]->name);

		cot_table_text(t, works ? "*" : "");
		cot_table_text(t, cot_policies[i]->name);
		cot_table_text(t, cot_policies[i]->summary);
	}
	cot_show_table(t);
}

static void print_daemon(const json_t *daemon)
{
	const char *at_work = cot_show_text(daemon, "policy"),
		   *wanted = cot_show_text(daemon, "policy_wanted"),
		   *chosen = cot_show_text(daemon, "policy_chosen"),
		   *reason = json_string_value(json_object_get(daemon, "policy_reason")),
		   *fault = json_string_value(
			   json_object_get(json_object_get(daemon, "policy_fault"), "reason"));

	(void)printf("\n* is at work%s%s\n", reason ? ": " : "", reason ? reason : "");
	if (strcmp(at_work, wanted) != 0)
		(void)printf("instead of %s: %s\n", wanted, fault ? fault : "it has failed");
	if (json_is_string(json_object_get(daemon, "policy_chosen")) && strcmp(wanted, chosen) != 0)
		(void)printf("%s replaces %s until MPS is available\n", wanted, chosen);
}

static void print(const json_t *daemon)
{
	print_list(json_string_value(json_object_get(daemon, "policy")));
	if (daemon)
		print_daemon(daemon);
}

static int show(const char *json)
{
	struct cot_error err;
	const json_t *daemon;
	json_t *answer, *shown;
	int rc = cot_show_query(COT_QUERY_PS, &answer, &err);

	daemon = json_object_get(answer, "daemon");
	shown = json ? json_answer(daemon) : NULL;
	if (!json)
		print(daemon);
	json_decref(answer);
	return cot_show_end(rc, shown, json, &err);
}

int cot_cmd_policy(int argc, char **argv)
{
	const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[NAME]",
		.doc = "Show the policies of the daemon and which is at work; with NAME, change it: "
		       "programs go on under the new one. auto: what the configuration says.",
		.children = cot_cli_argp_children,
	};
	struct arguments a = {0};

	if (cot_cli_parse(&argp, argc, argv, 0, &a))
		return COT_EXIT_USAGE;
	return a.name ? change(&a) : show(a.json);
}
