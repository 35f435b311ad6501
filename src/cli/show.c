#include "cli/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/show_csv.h"

/* ---- --json, --csv, --wide and --format, the only options ---- */

enum { KEY_JSON = 256, KEY_CSV, KEY_WIDE, KEY_FORMAT };

static bool wide;

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cot_show_wishes *wishes = state->input;

	switch (key) {
	case KEY_JSON:
		wishes->json = arg ? arg : "-";
		return 0;
	case KEY_CSV:
		wishes->csv = arg ? arg : "-";
		return 0;
	case KEY_FORMAT:
		if (strcmp(arg, "prometheus") != 0 && strcmp(arg, "table") != 0)
			argp_error(state, "--format is '%s'; expected prometheus or table", arg);
		wishes->prometheus = !strcmp(arg, "prometheus");
		return 0;
	case ARGP_KEY_END:
		if (!!wishes->json + !!wishes->csv + wishes->prometheus > 1)
			argp_error(state, "expected only one of --json, --csv and --format");
		return 0;
	case KEY_WIDE:
		wide = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is not an option", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

error_t cot_show_parse(int argc, char **argv, const char *doc, bool has_format,
		       struct cot_show_wishes *ret_wishes)
{
	static const struct argp_option options[] = {
		{"format", KEY_FORMAT, "FORMAT", 0,
		 "table (default), or prometheus: the text that /metrics gives", 0},
		{"wide", KEY_WIDE, NULL, 0, "Show all columns; default: what fits 80 characters",
		 0},
		COT_CLI_CSV(KEY_CSV, "program", 0),
		COT_CLI_JSON(KEY_JSON, 0),
		{0},
	};
	const struct argp argp = {.options = has_format ? options : options + 1,
				  .parser = parse,
				  .doc = doc,
				  .children = cot_cli_argp_children};

	wide = false;
	*ret_wishes = (struct cot_show_wishes){.json = NULL};
	return cot_cli_parse(&argp, argc, argv, 0, ret_wishes);
}

/* ---- the answer ---- */

int cot_show_query_text(enum cot_proto_query what, char **ret, struct cot_error *err)
{
	struct cot_client client;
	int rc;

	rc = cot_client_open(&client, false, err);
	if (rc < 0)
		return rc;
	rc = cot_client_query(&client, what, ret, err);
	cot_client_close(&client);
	return rc;
}

int cot_show_query(enum cot_proto_query what, json_t **ret, struct cot_error *err)
{
	json_error_t json_err;
	char *text;
	int rc;

	*ret = NULL;
	rc = cot_show_query_text(what, &text, err);
	if (rc < 0)
		return rc;
	*ret = json_loads(text, 0, &json_err);
	free(text);
	if (!*ret)
		return cot_error_set(err, -1, "cotenantd's answer is not JSON: %s", json_err.text);
	return 0;
}

static int say(int rc, const struct cot_error *err)
{
	if (rc >= 0)
		return COT_EXIT_OK;
	cot_cli_complain("%s", err->text);
	return cot_client_exit_status(rc);
}

int cot_show_end(int rc, json_t *answer, const char *json, struct cot_error *err)
{
	int status = say(rc, err);

	if (!json) {
		json_decref(answer);
		return status;
	}
	rc = cot_cli_write_json(answer, json, err);
	return rc < 0 ? cot_cli_end(rc, err) : status;
}

int cot_show_end_csv(int rc, json_t *answer, const char *csv, struct cot_error *err)
{
	int status = say(rc, err);

	if (!answer)
		return status;
	rc = cot_show_csv(answer, csv, err);
	json_decref(answer);
	return rc < 0 ? cot_cli_end(rc, err) : status;
}

const char *cot_show_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "-";
}

void cot_show_gpus(const json_t *list, char *ret_text, size_t size)
{
	const json_t *gpu;
	size_t i, used = 0;

	*ret_text = '\0';
	json_array_foreach (list, i, gpu)
		if (used < size)
			used += (size_t)snprintf(ret_text + used, size - used, "%s%lld",
						 i ? "," : "", (long long)json_integer_value(gpu));
}

long long cot_show_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

double cot_show_real(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

bool cot_show_bool(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

const char *cot_show_why(const char *name)
{
	static const char *const whys[][2] = {
#define WHY(id, name, what) {name, what},
#include "proto/why.def"
#undef WHY
	};
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(whys); i++)
		if (!strcmp(whys[i][0], name))
			return whys[i][1];
	return NULL;
}

bool cot_show_any_work(const json_t *tenants)
{
	const json_t *p;
	size_t i;

	json_array_foreach (tenants, i, p) {
		if (json_is_object(json_object_get(p, "work")))
			return true;
	}
	return false;
}

bool cot_show_has_shares(const json_t *tenant)
{
	return json_is_object(json_object_get(tenant, "work")) ||
	       json_is_string(json_object_get(tenant, "quota")) ||
	       json_is_string(json_object_get(tenant, "reserve"));
}

bool cot_show_any_shares(const json_t *tenants)
{
	const json_t *p;
	size_t i;

	json_array_foreach (tenants, i, p) {
		if (cot_show_has_shares(p))
			return true;
	}
	return false;
}

bool cot_show_has_part(const json_t *tenant)
{
	return json_is_object(json_object_get(tenant, "part")) ||
	       json_is_string(json_object_get(tenant, "sms"));
}

bool cot_show_any_parts(const json_t *tenants)
{
	const json_t *p;
	size_t i;

	json_array_foreach (tenants, i, p) {
		if (cot_show_has_part(p))
			return true;
	}
	return false;
}

void cot_show_part(const json_t *tenant, char *ret_text, size_t size)
{
	const json_t *part = json_object_get(tenant, "part");
	long long n = cot_show_number(part, "sms"), all = cot_show_number(part, "gpu_sms");

	if (!cot_show_bool(part, "can_be_placed"))
		(void)snprintf(ret_text, size, "-");
	else if (n == all)
		(void)snprintf(ret_text, size, "all %lld", all);
	else
		(void)snprintf(ret_text, size, "%lld of %lld, from %lld", n, all,
			       cot_show_number(part, "first"));
}

static void show_coverage_of(const json_t *of, char *ret_text, size_t size)
{
	if (json_is_number(json_object_get(of, "coverage")))
		(void)snprintf(ret_text, size, "%.2f %%", 100 * cot_show_real(of, "coverage"));
	else
		(void)snprintf(ret_text, size, "-");
}

void cot_show_coverage(const json_t *tenant, char *ret_text, size_t size)
{
	show_coverage_of(json_object_get(tenant, "part"), ret_text, size);
}

void cot_show_covered(const json_t *tenant, char *ret_text, size_t size)
{
	show_coverage_of(json_object_get(tenant, "launches"), ret_text, size);
}

void cot_show_duration(double seconds, char *ret_text, size_t size)
{
	if (seconds < 120)
		(void)snprintf(ret_text, size, "%.0f s", seconds);
	else if (seconds < 7200)
		(void)snprintf(ret_text, size, "%.0f min", seconds / 60);
	else
		(void)snprintf(ret_text, size, "%.0f h", seconds / 3600);
}

/* An empty line separates the first of several remarks from the table above. */
static void begin_remark(bool *any)
{
	if (!*any)
		(void)putchar('\n');
	*any = true;
}

static void remark_trouble(const json_t *entity, const char *prefix, bool thaw, bool *any)
{
	const json_t *trouble = json_object_get(entity, thaw ? "thaw_trouble" : "freeze_trouble");
	char since[32];

	if (!json_is_object(trouble))
		return;
	begin_remark(any);
	cot_show_duration(cot_show_real(trouble, thaw ? "seconds" : "last_seconds"), since,
			  sizeof(since));
	(void)printf("%s%s: ", prefix, cot_show_text(entity, "name"));
	if (thaw)
		(void)printf(
			"no thaw has been confirmed for %s, failures: %lld (%s); it may hang\n",
			since, cot_show_number(trouble, "failures"),
			cot_show_text(trouble, "reason"));
	else
		(void)printf("the last freeze failed %s ago, failures: %lld (%s)\n", since,
			     cot_show_number(trouble, "failures"),
			     cot_show_text(trouble, "reason"));
}

static void remark_entity(const json_t *o, const char *prefix, bool *any)
{
	const char *reason = json_string_value(json_object_get(o, "shares_reason"));
	const char *what = reason ? cot_show_why(reason) : NULL;

	remark_trouble(o, prefix, true, any);
	remark_trouble(o, prefix, false, any);
	if (cot_show_number(o, "slice_wrong_pid")) {
		begin_remark(any);
		(void)printf("%s%s: process %lld does not have the slice that it should have: %s\n",
			     prefix, cot_show_text(o, "name"),
			     cot_show_number(o, "slice_wrong_pid"),
			     cot_show_text(o, "slice_wrong_reason"));
	}
	if (cot_show_number(o, "guests_left")) {
		begin_remark(any);
		(void)printf("%s%s: processes of its programs that do not obey and get no more "
			     "orders: %lld\n",
			     prefix, cot_show_text(o, "name"), cot_show_number(o, "guests_left"));
	}
	if (json_is_string(json_object_get(o, "shares_effect"))) {
		begin_remark(any);
		(void)printf("%s%s: %s", prefix, cot_show_text(o, "name"),
			     cot_show_text(o, "shares_effect"));
		if (reason)
			(void)printf("; %s%s%s%s", reason, what ? " (" : "", what ? what : "",
				     what ? ")" : "");
		(void)putchar('\n');
	}
	if (json_is_string(json_object_get(o, "target_effect"))) {
		begin_remark(any);
		(void)printf("%s%s: the target %s\n", prefix, cot_show_text(o, "name"),
			     cot_show_text(o, "target_effect"));
	}
	if (json_is_string(json_object_get(o, "part_effect"))) {
		begin_remark(any);
		(void)printf("%s%s: %s\n", prefix, cot_show_text(o, "name"),
			     cot_show_text(o, "part_effect"));
	}
}

/* Said once for all programs that have the same, with the first of them. */
static void remark_next_start(const json_t *tenants, const json_t *o, bool *any)
{
	const json_t *next = json_object_get(o, "next_start"), *other;
	const char *between = "";
	size_t i;

	if (!json_is_string(next))
		return;
	json_array_foreach (tenants, i, other) {
		if (!json_equal(json_object_get(other, "next_start"), next))
			continue;
		if (!*between && other != o)
			return;
		if (!*between)
			begin_remark(any);
		(void)printf("%s%s", between, cot_show_text(other, "name"));
		between = ", ";
	}
	(void)printf(": at the next start %s\n", json_string_value(next));
}

/* Where users asked for parts that the daemon could not keep apart. Those of programs that stand
 * alone are never used at the same time. */
static bool meet(const json_t *a, const json_t *b)
{
	const json_t *x = json_object_get(a, "part"), *y = json_object_get(b, "part");
	long long first = cot_show_number(x, "first"), second = cot_show_number(y, "first");

	return a != b && json_is_string(json_object_get(a, "sms")) &&
	       json_is_string(json_object_get(b, "sms")) &&
	       json_equal(json_object_get(a, "gpus"), json_object_get(b, "gpus")) &&
	       json_is_string(json_object_get(a, "pool")) &&
	       json_equal(json_object_get(a, "pool"), json_object_get(b, "pool")) &&
	       first < second + cot_show_number(y, "sms") &&
	       second < first + cot_show_number(x, "sms");
}

static void remark_meeting(const json_t *tenants, const json_t *o, bool *any)
{
	const json_t *other;
	unsigned n = 0;
	size_t i;

	json_array_foreach (tenants, i, other) {
		if (!meet(o, other))
			continue;
		if (!n)
			begin_remark(any);
		if (n++)
			(void)printf(", %s", cot_show_text(other, "name"));
		else
			(void)printf("%s: more SMs were asked for than there are; it shares some "
				     "with %s",
				     cot_show_text(o, "name"), cot_show_text(other, "name"));
	}
	if (n)
		(void)putchar('\n');
}

void cot_show_remarks(const json_t *answer)
{
	const json_t *daemon = json_object_get(answer, "daemon");
	const json_t *fault = json_object_get(daemon, "policy_fault");
	const json_t *tenants = json_object_get(answer, "tenants");
	char since[32], retry[32];
	bool any = false;
	json_t *o;
	size_t i;

	json_array_foreach (json_object_get(answer, "pools"), i, o)
		remark_entity(o, "pool:", &any);
	json_array_foreach (tenants, i, o) {
		remark_entity(o, "", &any);
		remark_next_start(tenants, o, &any);
		remark_meeting(tenants, o, &any);
	}
	if (!json_is_object(fault))
		return;
	begin_remark(&any);
	cot_show_duration(cot_show_real(fault, "seconds"), since, sizeof(since));
	cot_show_duration(cot_show_real(fault, "retry_seconds"), retry, sizeof(retry));
	(void)printf("The policy '%s' failed %s ago (%s: %s); '%s' is used instead, and the daemon "
		     "tries it again in %s\n",
		     cot_show_text(daemon, "policy_wanted"), since, cot_show_text(fault, "fault"),
		     cot_show_text(fault, "reason"), cot_show_text(daemon, "policy"), retry);
}

void cot_show_state(const json_t *entity, char *ret_text, size_t size)
{
	const json_t *thaw = json_object_get(entity, "thaw_trouble");
	char since[32];

	if (json_is_object(thaw)) {
		cot_show_duration(cot_show_real(thaw, "seconds"), since, sizeof(since));
		(void)snprintf(ret_text, size, "stuck %s", since);
		return;
	}
	(void)snprintf(ret_text, size, "%s%s", cot_show_text(entity, "state"),
		       cot_show_bool(entity, "held") ? " (held)" : "");
}

struct cot_table *cot_show_columns(const char *const *heads, unsigned n)
{
	return cot_table_create_narrow(heads, n, wide);
}

void cot_show_table(struct cot_table *t)
{
	if (cot_table_print(t, stdout))
		cot_cli_is_incomplete();
}

/* ---- reserve and quota ---- */

static void add_method(struct cot_table *t, const json_t *tenant, const char *method,
		       const json_t *m)
{
	cot_table_text(t, cot_show_text(tenant, "name"));
	cot_table_text(t, method);
	cot_table_cell(t, "%lld", cot_show_number(m, "requests"));
	cot_table_cell(t, "%lld of %lld", cot_show_number(m, "has"),
		       cot_show_number(json_object_get(tenant, "work"), "n_sms"));
	cot_table_cell(t, "%lld", cot_show_number(m, "running"));
	cot_table_cell(t, "%lld", cot_show_number(m, "waiting"));
	cot_table_cell(t, "%lld", cot_show_number(m, "evictions"));
	cot_table_cell(t, "%lld", cot_show_number(m, "evicted_capsms"));
}

static bool says_something(const json_t *methods)
{
	const char *method;
	json_t *m;

	json_object_foreach ((json_t *)methods, method, m)
		if (cot_show_number(m, "said"))
			return true;
	return false;
}

void cot_show_methods(const json_t *tenants)
{
	static const char *const heads[] = {"~PROGRAM", "METHOD",  "REQUESTS",	"HAS SMS",
					    "RUNNING",	"WAITING", "EVICTIONS", "+EVICTED SMS"};
	struct cot_table *t = NULL;
	const char *method;
	json_t *o, *m;
	size_t i;

	json_array_foreach ((json_t *)tenants, i, o) {
		json_t *methods = json_object_get(json_object_get(o, "work"), "methods");

		if (!says_something(methods))
			continue;
		if (!t) {
			(void)putchar('\n');
			t = cot_show_columns(heads, COT_ARRAY_LEN(heads));
		}
		json_object_foreach (methods, method, m)
			add_method(t, o, method, m);
	}
	if (t)
		cot_show_table(t);
}
