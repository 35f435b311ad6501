/*
 * cotenant explain: where a program runs, what the policy does with it, and why.
 */
#include <cotenant/policy.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/show.h"
#include "cli/target.h"

static const struct argp_option options[] = {
	COT_CLI_JSON(COT_TARGET_JSON, 0),
	{0},
};

/* ---- the question ---- */

static int ask(const char *target, json_t **ret, struct cot_error *err)
{
	struct cot_msg_explain m = {0};
	struct cot_client client;
	json_error_t json_err;
	char *text;
	int rc = cot_target_name(target, &m.tenant, m.name, err);

	if (!rc)
		rc = cot_client_open(&client, false, err);
	if (rc < 0)
		return rc;
	rc = cot_client_explain(&client, &m, &text, err);
	cot_client_close(&client);
	if (rc < 0)
		return rc;
	*ret = json_loads(text, 0, &json_err);
	free(text);
	return *ret ? 0
		    : cot_error_set(err, -EBADMSG, "cotenantd's answer is not JSON: %s",
				    json_err.text);
}

/* ---- the program ---- */

static void print_place(const json_t *program, const json_t *pool)
{
	const char *why = json_string_value(json_object_get(program, "alone_because"));

	(void)printf("%s (id %lld), %s, ", cot_show_text(program, "name"),
		     cot_show_number(program, "id"), cot_show_text(program, "class"));
	if (json_is_object(pool))
		(void)printf("in the %s pool of GPU %lld\n", cot_show_text(pool, "name"),
			     cot_show_number(pool, "gpu"));
	else
		(void)printf("alone%s%s\n", why ? ": " : "", why ? why : "");
}

static void print_target(const json_t *program)
{
	const json_t *target = json_object_get(program, "target");

	if (json_is_object(target))
		(void)printf("target  %s %s\n", cot_show_text(target, "kind"),
			     cot_show_text(target, "amount"));
}

/* What it has: its own, or its pool's. */
static void print_share(const json_t *program, const json_t *entity)
{
	long long slice_us = cot_show_number(entity, "slice_us");
	char part[64], state[64];

	if (slice_us)
		(void)printf("slice   %lld us\n", slice_us);
	else
		(void)printf("slice   the driver's\n");
	if (cot_show_has_part(program)) {
		cot_show_part(program, part, sizeof(part));
		(void)printf("SMs     %s\n", part);
	}
	cot_show_state(entity, state, sizeof(state));
	(void)printf("state   %s\n", state);
}

/* ---- the policy ---- */

static void print_policy(const json_t *answer)
{
	const json_t *daemon = json_object_get(answer, "daemon");
	const json_t *fault = json_object_get(daemon, "policy_fault");
	const char *reason = json_string_value(json_object_get(daemon, "policy_reason"));

	(void)printf("policy  %s: %s\n", cot_show_text(daemon, "policy"),
		     cot_show_text(answer, "summary"));
	if (reason)
		(void)printf("        because %s\n", reason);
	if (json_is_object(fault))
		(void)printf("        instead of %s: %s\n", cot_show_text(daemon, "policy_wanted"),
			     cot_show_text(fault, "reason"));
}

static void duration(double ns, char *ret_text, size_t size)
{
	static const struct {
		double ns;
		const char *unit;
	} scales[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(scales) - 1 && ns < scales[i].ns; i++)
		;
	(void)snprintf(ret_text, size, "%.4g %s", ns / scales[i].ns, scales[i].unit);
}

static void value(const json_t *fact, char *ret_text, size_t size)
{
	const char *unit = cot_show_text(fact, "unit");
	long long n = cot_show_number(fact, "value");
	char ago[32];

	if (!strcmp(unit, "text")) {
		(void)snprintf(ret_text, size, "%s", cot_show_text(fact, "text"));
	} else if (!strcmp(unit, "ns") || !strcmp(unit, "us")) {
		duration((double)n * (*unit == 'u' ? 1e3 : 1), ret_text, size);
	} else if (!strcmp(unit, "ns ago")) {
		cot_show_duration((double)n / 1e9, ago, sizeof(ago));
		(void)snprintf(ret_text, size, "%s ago", ago);
	} else if (!strcmp(unit, "permille")) {
		(void)snprintf(ret_text, size, "%.1f %%", (double)n / 10);
	} else if (!strcmp(unit, "sms")) {
		(void)snprintf(ret_text, size, "%lld SM%s", n, n == 1 ? "" : "s");
	} else if (!strcmp(unit, "w")) {
		(void)snprintf(ret_text, size, "%lld W", n);
	} else {
		(void)snprintf(ret_text, size, "%lld", n);
	}
}

/* The name, what it is, and the remark. */
static void print_facts(const json_t *facts)
{
	const json_t *fact;
	char text[COT_FACT_TEXT_MAX];
	int width = 0, n;
	size_t i;

	json_array_foreach (facts, i, fact) {
		n = (int)strlen(cot_show_text(fact, "name"));
		width = n > width ? n : width;
	}
	json_array_foreach (facts, i, fact) {
		const char *remark = json_string_value(json_object_get(fact, "text"));

		value(fact, text, sizeof(text));
		if (!strcmp(cot_show_text(fact, "unit"), "text"))
			remark = NULL;
		(void)printf("  %-*s  %s%s%s\n", width, cot_show_text(fact, "name"), text,
			     remark ? ", " : "", remark ? remark : "");
	}
}

static void print(const json_t *answer)
{
	const json_t *program = json_object_get(answer, "program");
	const json_t *pool = json_object_get(answer, "pool");
	const json_t *facts = json_object_get(answer, "facts");

	print_place(program, pool);
	print_target(program);
	print_share(program, json_is_object(pool) ? pool : program);
	print_policy(answer);
	if (json_array_size(facts))
		print_facts(facts);
	else
		(void)printf("        it has nothing to add\n");
}

int cot_cmd_explain(int argc, char **argv)
{
	const struct argp argp = {
		.options = options,
		.parser = cot_target_parse,
		.args_doc = "PROGRAM|ID|PID",
		.doc = "Show where a program runs, what the policy does with it, and why.",
		.children = cot_cli_argp_children,
	};
	struct cot_target_arguments a = {0};
	struct cot_error err = {{0}};
	json_t *answer = NULL;
	int rc;

	if (cot_cli_parse(&argp, argc, argv, 0, &a))
		return COT_EXIT_USAGE;
	rc = ask(a.target, &answer, &err);
	if (rc < 0)
		return cot_show_end(rc, NULL, NULL, &err);
	if (!a.json)
		print(answer);
	return cot_show_end(rc, answer, a.json, &err);
}
