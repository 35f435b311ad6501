/*
 * cotenant ps: the programs and pools under control.
 */
#include <pwd.h>
#include <stdio.h>

#include "base/compiler.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/show.h"
#include "cli/uncontrolled.h"

static void add_slice(struct cot_table *t, const json_t *o)
{
	long long slice = cot_show_number(o, "slice_us");
	const char *by = cot_show_bool(o, "slice_by_user") ? "!" : "";

	if (slice)
		cot_table_cell(t, "%lld us%s", slice, by);
	else
		cot_table_text(t, "driver's");
}

static void add_state(struct cot_table *t, const json_t *o)
{
	char state[64];

	cot_show_state(o, state, sizeof(state));
	cot_table_text(t, state);
}

static void print_pools(const json_t *pools)
{
	static const char *const heads[] = {"POOL",  "GPU",  "MPS",    "STATE",
					    "SLICE", "MODE", "GROUPS", "PROGRAMS"};
	struct cot_table *t;
	const json_t *p;
	size_t i;

	if (!json_array_size(pools))
		return;
	t = cot_show_columns(heads, COT_ARRAY_LEN(heads));
	json_array_foreach (pools, i, p) {
		cot_table_text(t, cot_show_text(p, "name"));
		cot_table_cell(t, "%lld", cot_show_number(p, "gpu"));
		cot_table_text(t, cot_show_text(p, "mps"));
		add_state(t, p);
		add_slice(t, p);
		cot_table_text(t, cot_show_text(p, "mode"));
		cot_table_cell(t, "%lld", cot_show_number(p, "channel_groups"));
		cot_table_cell(t, "%lld", cot_show_number(p, "tenants"));
	}
	cot_show_table(t);
	(void)putchar('\n');
}

static void add_gpus(struct cot_table *t, const json_t *list)
{
	char text[64];

	cot_show_gpus(list, text, sizeof(text));
	cot_table_text(t, text);
}

/* The users of this machine only: what getpwuid() asks for the others may take long, and without
 * memory glibc ends the program there. */
static void add_user(struct cot_table *t, const json_t *o)
{
	bool known = json_is_integer(json_object_get(o, "uid"));
	long long uid = cot_show_number(o, "uid");
	FILE *f = known ? fopen("/etc/passwd", "re") : NULL;
	const struct passwd *user = NULL;

	while (f && (user = fgetpwent(f)) != NULL && user->pw_uid != (uid_t)uid)
		;
	if (!known)
		cot_table_text(t, "-");
	else if (user)
		cot_table_text(t, user->pw_name);
	else
		cot_table_cell(t, "%lld", uid);
	if (f)
		(void)fclose(f);
}

/* Since its process began; an older daemon knows only since when it knows it. */
static void add_age(struct cot_table *t, const json_t *o)
{
	const char *key =
		json_is_number(json_object_get(o, "age_seconds")) ? "age_seconds" : "seconds";
	char age[32] = "-";

	if (json_is_number(json_object_get(o, key)))
		cot_show_duration(cot_show_real(o, key), age, sizeof(age));
	cot_table_text(t, age);
}

/* One line for GPUs in a row that are alike. */
static void print_gpus(const json_t *gpus)
{
	size_t i, j, n = json_array_size(gpus);
	bool any = false;

	for (i = 0; i < n; i = j) {
		const json_t *model = json_object_get(json_array_get(gpus, i), "model");

		for (j = i + 1; j < n; j++)
			if (!json_equal(model, json_object_get(json_array_get(gpus, j), "model")))
				break;
		if (!json_is_string(model))
			continue;
		any = true;
		if (j > i + 1)
			(void)printf("GPU %zu to %zu: %s\n", i, j - 1, json_string_value(model));
		else
			(void)printf("GPU %zu: %s\n", i, json_string_value(model));
	}
	if (any)
		(void)putchar('\n');
}

static void print_tenants(const json_t *tenants)
{
	static const char *const heads[] = {"ID",   "~NAME", "CLASS",  "+WEIGHT", "PID", "~GPU",
					    "POOL", "STATE", "+SLICE", "~USER",	  "AGE"};
	struct cot_table *t = cot_show_columns(heads, COT_ARRAY_LEN(heads));
	const json_t *p;
	size_t i;

	json_array_foreach (tenants, i, p) {
		bool alone = json_is_null(json_object_get(p, "pool"));

		cot_table_cell(t, "%lld", cot_show_number(p, "id"));
		cot_table_text(t, cot_show_text(p, "name"));
		cot_table_text(t, cot_show_text(p, "class"));
		cot_table_cell(t, "%lld", cot_show_number(p, "weight"));
		cot_table_cell(t, "%lld", cot_show_number(p, "pid"));
		add_gpus(t, json_object_get(p, "gpus"));
		cot_table_text(t, alone ? "alone" : cot_show_text(p, "pool"));
		/* In a pool both are the pool's. */
		if (alone) {
			add_state(t, p);
			add_slice(t, p);
		} else {
			cot_table_text(t, "-");
			cot_table_text(t, "-");
		}
		add_user(t, p);
		add_age(t, p);
	}
	cot_show_table(t);
}

/* A share, or "-". */
static void add_share(struct cot_table *t, const json_t *o, const char *key)
{
	cot_table_cell(t, "%s",
		       json_is_string(json_object_get(o, key)) ? cot_show_text(o, key) : "-");
}

static void add_nothing(struct cot_table *t, unsigned n)
{
	while (n--)
		cot_table_text(t, "-");
}

static void add_work(struct cot_table *t, const json_t *w)
{
	cot_table_cell(t, "%lld of %lld",
		       cot_show_number(w, "granted") - cot_show_number(w, "evicted"),
		       cot_show_number(w, "n_sms"));
	cot_table_cell(t, "%lld", cot_show_number(w, "leaving"));
	cot_table_cell(t, "%lld", cot_show_number(w, "running"));
	cot_table_cell(t, "%lld", cot_show_number(w, "waiting"));
}

/* Those with shares, and those whose kernels are rewritten. */
static void print_works(const json_t *tenants)
{
	static const char *const heads[] = {"ID",	"~NAME",   "QUOTA",   "RESERVE", "HAS SMS",
					    "+LEAVING", "RUNNING", "WAITING", "COVERED"};
	struct cot_table *t;
	char text[64];
	const json_t *p;
	size_t i;

	if (!cot_show_any_shares(tenants))
		return;
	(void)putchar('\n');
	t = cot_show_columns(heads, COT_ARRAY_LEN(heads));
	json_array_foreach (tenants, i, p) {
		const json_t *w = json_object_get(p, "work");

		if (!cot_show_has_shares(p))
			continue;
		cot_table_cell(t, "%lld", cot_show_number(p, "id"));
		cot_table_text(t, cot_show_text(p, "name"));
		add_share(t, p, "quota");
		add_share(t, p, "reserve");
		if (json_is_object(w))
			add_work(t, w);
		else
			add_nothing(t, 4);
		cot_show_covered(p, text, sizeof(text));
		cot_table_text(t, text);
	}
	cot_show_table(t);
}

/* Those that are on a part of the GPU, or can be put on one. */
static void print_parts(const json_t *tenants)
{
	static const char *const heads[] = {"ID", "~NAME", "SMS", "HAS SMS", "FOLLOWED"};
	struct cot_table *t;
	char text[64];
	const json_t *p;
	size_t i;

	if (!cot_show_any_parts(tenants))
		return;
	(void)putchar('\n');
	t = cot_show_columns(heads, COT_ARRAY_LEN(heads));
	json_array_foreach (tenants, i, p) {
		if (!cot_show_has_part(p))
			continue;
		cot_table_cell(t, "%lld", cot_show_number(p, "id"));
		cot_table_text(t, cot_show_text(p, "name"));
		add_share(t, p, json_is_string(json_object_get(p, "sms")) ? "sms" : "quota");
		cot_show_part(p, text, sizeof(text));
		cot_table_text(t, text);
		cot_show_coverage(p, text, sizeof(text));
		cot_table_text(t, text);
	}
	cot_show_table(t);
}

static void add_mib(struct cot_table *t, const json_t *memory, const char *key)
{
	const json_t *bytes = json_object_get(memory, key);

	if (json_is_integer(bytes))
		cot_table_cell(t, "%lld MiB", (long long)(json_integer_value(bytes) >> 20));
	else
		cot_table_text(t, "-");
}

/* Those with a bound, and all of which it is known what they have. */
static void print_memory(const json_t *tenants)
{
	static const char *const heads[] = {"ID",     "~NAME", "MEMORY",  "IN USE",
					    "ON GPU", "+MOST", "REFUSED", "PROMISE"};
	struct cot_table *t = NULL;
	const json_t *p;
	size_t i;

	json_array_foreach (tenants, i, p) {
		const json_t *m = json_object_get(p, "memory");

		if (!json_is_object(m))
			continue;
		if (!t) {
			(void)putchar('\n');
			t = cot_show_columns(heads, COT_ARRAY_LEN(heads));
		}
		cot_table_cell(t, "%lld", cot_show_number(p, "id"));
		cot_table_text(t, cot_show_text(p, "name"));
		add_mib(t, m, "limit_bytes");
		add_mib(t, m, "used_bytes");
		add_mib(t, m, "on_gpu_bytes");
		add_mib(t, m, "most_bytes");
		if (json_is_null(json_object_get(m, "limit_bytes"))) {
			cot_table_text(t, "-");
			cot_table_text(t, "none");
			continue;
		}
		cot_table_cell(t, "%lld", cot_show_number(m, "refused"));
		cot_table_text(t, json_is_true(json_object_get(m, "oversubscribed"))
					  ? "more than there is"
					  : "kept");
	}
	if (t)
		cot_show_table(t);
}

/* Both given up. */
static json_t *whole(json_t *answer, json_t *uncontrolled)
{
	if (!answer)
		answer = json_pack("{s:s, s:n, s:[], s:[]}", "schema", "cotenant.ps/1", "daemon",
				   "pools", "tenants");
	(void)json_object_set_new(answer, "uncontrolled", uncontrolled);
	return answer;
}

static void print(const json_t *answer)
{
	const json_t *tenants = json_object_get(answer, "tenants");

	print_gpus(json_object_get(answer, "gpus"));
	print_pools(json_object_get(answer, "pools"));
	print_tenants(tenants);
	print_works(tenants);
	cot_show_methods(tenants);
	print_parts(tenants);
	print_memory(tenants);
	cot_show_remarks(answer);
}

int cot_cmd_ps(int argc, char **argv)
{
	struct cot_error err = {{0}};
	struct cot_show_wishes wishes;
	json_t *answer, *uncontrolled;
	int rc;

	if (cot_show_parse(
		    argc, argv,
		    "Show the programs and pools under control, and programs that should be. A "
		    "! marks a slice that a user set.",
		    false, &wishes))
		return COT_EXIT_USAGE;
	rc = cot_show_query(COT_QUERY_PS, &answer, &err);
	if (wishes.csv)
		return cot_show_end_csv(rc, answer, wishes.csv, &err);
	uncontrolled = cot_uncontrolled_find(answer, rc);
	if (wishes.json)
		return cot_show_end(rc, whole(answer, uncontrolled), wishes.json, &err);
	if (answer)
		print(answer);
	if (answer && json_array_size(uncontrolled))
		(void)putchar('\n');
	cot_uncontrolled_print(uncontrolled);
	json_decref(uncontrolled);
	return cot_show_end(rc, answer, NULL, &err);
}
