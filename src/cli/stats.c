/*
 * cotenant stats: what was done, and how long it took.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/show.h"

/* Whether there are pools of more than the first GPU: then their names need its number. */
static bool has_gpus(const json_t *pools)
{
	const json_t *o;
	size_t i;

	json_array_foreach (pools, i, o)
		if (cot_show_number(o, "gpu") > 0)
			return true;
	return false;
}

/* How often, and how long the last and the longest took. */
static void add_times(struct cot_table *t, const json_t *o, const char *n, const char *last,
		      const char *max)
{
	cot_table_cell(t, "%lld", cot_show_number(o, n));
	if (cot_show_number(o, n))
		cot_table_cell(t, "%.2f/%.2f ms", cot_show_real(o, last), cot_show_real(o, max));
	else
		cot_table_text(t, "-");
}

static void add_row(struct cot_table *t, const json_t *o)
{
	long long wanted = cot_show_number(o, "slice_us");
	long long got = cot_show_number(o, "slice_read_back_us");
	const char *mark = cot_show_number(o, "slice_wrong_pid") ? " !" : "";

	if (wanted)
		cot_table_cell(t, "%lld us", wanted);
	else
		cot_table_text(t, "driver's");
	if (got)
		cot_table_cell(t, "%lld us%s", got, mark);
	else
		cot_table_cell(t, "-%s", mark);
	cot_table_text(t, cot_show_text(o, "mode"));
	add_times(t, o, "freezes", "freeze_last_ms", "freeze_max_ms");
	add_times(t, o, "thaws", "thaw_last_ms", "thaw_max_ms");
	cot_table_cell(t, "%lld", cot_show_number(o, "failed_orders"));
	cot_table_cell(t, "%lld", cot_show_number(o, "leases_expired"));
	cot_table_cell(t, "%lld", cot_show_number(o, "doubts"));
}

static void print_entities(const json_t *answer)
{
	static const char *const heads[] = {"~ENTITY", "SLICE",	   "READ BACK", "+MODE",
					    "FREEZES", "LAST/MAX", "THAWS",	"+LAST/MAX",
					    "FAILED",  "+LAPSED",  "+DOUBTS"};
	const json_t *pools = json_object_get(answer, "pools");
	struct cot_table *t = cot_show_columns(heads, COT_ARRAY_LEN(heads));
	json_t *o;
	size_t i;

	json_array_foreach (pools, i, o) {
		if (has_gpus(pools))
			cot_table_cell(t, "pool:%s:%lld", cot_show_text(o, "name"),
				       cot_show_number(o, "gpu"));
		else
			cot_table_cell(t, "pool:%s", cot_show_text(o, "name"));
		add_row(t, o);
	}
	json_array_foreach (json_object_get(answer, "tenants"), i, o) {
		if (!json_is_null(json_object_get(o, "pool")))
			continue;
		cot_table_text(t, cot_show_text(o, "name"));
		add_row(t, o);
	}
	cot_show_table(t);
	cot_show_remarks(answer);
}

static void add_spread(struct cot_table *t, const json_t *work, const char *key)
{
	const json_t *s = json_object_get(work, key);

	cot_table_cell(t, "%.0f/%.0f/%.0f us", cot_show_real(s, "p50"), cot_show_real(s, "p99"),
		       cot_show_real(s, "max"));
}

static void print_refusals(const json_t *tenants)
{
	const char *reason;
	json_t *o, *n;
	size_t i;

	json_array_foreach (tenants, i, o) {
		const json_t *work = json_object_get(o, "work");

		json_object_foreach (json_object_get(work, "refusals"), reason, n) {
			const char *what = cot_show_why(reason);

			(void)printf("%s: %lld %s: %s%s%s%s\n", cot_show_text(o, "name"),
				     (long long)json_integer_value(n),
				     !strncmp(reason, "launch-", 7)  ? "launches as they are"
				     : !strncmp(reason, "image-", 6) ? "images as they are"
				     : !strncmp(reason, "cpu-", 4)   ? "times not on the CPU"
								     : "kernels not rewritten",
				     reason, what ? " (" : "", what ? what : "", what ? ")" : "");
		}
	}
}

/* Programs whose kernels are rewritten. */
static void print_works(const json_t *tenants)
{
	static const char *const heads[] = {
		"~PROGRAM", "KERNELS",	 "LAUNCHES",  "PLAIN",	  "WAIT P50/P99/MAX",
		"+TASKS",   "+REMAPPED", "EVICTIONS", "+RESUMES", "+DELAY P50/P99/MAX"};
	struct cot_table *t;
	json_t *o;
	size_t i;

	if (!cot_show_any_work(tenants))
		return;
	(void)putchar('\n');
	t = cot_show_columns(heads, COT_ARRAY_LEN(heads));
	json_array_foreach (tenants, i, o) {
		const json_t *w = json_object_get(o, "work");

		if (!json_is_object(w))
			continue;
		cot_table_text(t, cot_show_text(o, "name"));
		cot_table_cell(t, "%lld of %lld", cot_show_number(w, "kernels_rewritten"),
			       cot_show_number(w, "kernels_rewritten") +
				       cot_show_number(w, "kernels_refused"));
		cot_table_cell(t, "%lld", cot_show_number(w, "launches_workers"));
		cot_table_cell(t, "%lld", cot_show_number(w, "launches_plain"));
		add_spread(t, w, "wait_us");
		cot_table_cell(t, "%lld", cot_show_number(w, "tasks"));
		cot_table_cell(t, "%lld", cot_show_number(w, "remapped"));
		cot_table_cell(t, "%lld", cot_show_number(w, "evictions"));
		cot_table_cell(t, "%lld", cot_show_number(w, "resumes"));
		add_spread(t, w, "eviction_us");
	}
	cot_show_table(t);
	print_refusals(tenants);
}

static void print_stayed(const json_t *tenants)
{
	const char *reason;
	json_t *o, *n;
	size_t i;

	json_array_foreach (tenants, i, o) {
		const json_t *part = json_object_get(o, "part");

		json_object_foreach (json_object_get(part, "stayed"), reason, n) {
			const char *what = cot_show_why(reason);

			(void)printf("%s: %lld launch%s not on its part: %s%s%s%s\n",
				     cot_show_text(o, "name"), (long long)json_integer_value(n),
				     json_integer_value(n) == 1 ? "" : "es", reason,
				     what ? " (" : "", what ? what : "", what ? ")" : "");
		}
	}
}

/* Programs that can be put on a part of the GPU. */
static void print_parts(const json_t *tenants)
{
	static const char *const heads[] = {"~PROGRAM", "HAS SMS", "CHANGES", "FOLLOWED", "STAYED",
					    "COVERAGE", "+ORDERS", "+FAILED", "+LAST/MAX"};
	struct cot_table *t;
	char text[64];
	json_t *o;
	size_t i;

	if (!cot_show_any_parts(tenants))
		return;
	(void)putchar('\n');
	t = cot_show_columns(heads, COT_ARRAY_LEN(heads));
	json_array_foreach (tenants, i, o) {
		const json_t *p = json_object_get(o, "part");

		if (!json_is_object(p))
			continue;
		cot_table_text(t, cot_show_text(o, "name"));
		cot_show_part(o, text, sizeof(text));
		cot_table_text(t, text);
		cot_table_cell(t, "%lld", cot_show_number(p, "changes"));
		cot_table_cell(t, "%lld", cot_show_number(p, "launches_followed"));
		cot_table_cell(t, "%lld", cot_show_number(p, "launches_stayed"));
		cot_show_coverage(o, text, sizeof(text));
		cot_table_text(t, text);
		cot_table_cell(t, "%lld", cot_show_number(p, "placed"));
		cot_table_cell(t, "%lld", cot_show_number(p, "place_failed"));
		cot_table_cell(t, "%.0f/%.0f us", cot_show_real(p, "place_last_us"),
			       cot_show_real(p, "place_max_us"));
	}
	cot_show_table(t);
	print_stayed(tenants);
}

/* What programs have launched, with the shim: all of it. */
static void print_launches(const json_t *tenants)
{
	static const char *const heads[] = {"~PROGRAM",	 "AS WORKERS", "ON ITS PART",
					    "ELSEWHERE", "COVERED",    "A SECOND"};
	struct cot_table *t = NULL;
	char text[32];
	json_t *o;
	size_t i;

	json_array_foreach (tenants, i, o) {
		const json_t *l = json_object_get(o, "launches");

		if (!json_is_object(l))
			continue;
		if (!t)
			t = cot_show_columns(heads, COT_ARRAY_LEN(heads));
		cot_table_text(t, cot_show_text(o, "name"));
		cot_table_cell(t, "%lld", cot_show_number(l, "workers"));
		cot_table_cell(t, "%lld", cot_show_number(l, "on_part"));
		cot_table_cell(t, "%lld", cot_show_number(l, "elsewhere"));
		cot_show_covered(o, text, sizeof(text));
		cot_table_text(t, text);
		if (json_is_number(json_object_get(o, "launches_per_second")))
			cot_table_cell(t, "%.0f", cot_show_real(o, "launches_per_second"));
		else
			cot_table_text(t, "-");
	}
	if (!t)
		return;
	(void)putchar('\n');
	cot_show_table(t);
}

/* Launches that were to be on the CPU. */
static void print_cpu(const json_t *tenants)
{
	static const char *const heads[] = {"~PROGRAM", "ON THE CPU", "ALL OF THEM", "NOT THERE"};
	struct cot_table *t = NULL;
	json_t *o;
	size_t i;

	json_array_foreach (tenants, i, o) {
		const json_t *l = json_object_get(o, "launches");

		if (!cot_show_number(l, "on_cpu") && !cot_show_number(l, "not_on_cpu"))
			continue;
		if (!t)
			t = cot_show_columns(heads, COT_ARRAY_LEN(heads));
		cot_table_text(t, cot_show_text(o, "name"));
		cot_table_cell(t, "%lld", cot_show_number(l, "on_cpu"));
		cot_table_cell(t, "%.1f ms", cot_show_real(l, "on_cpu_ms"));
		cot_table_cell(t, "%lld", cot_show_number(l, "not_on_cpu"));
	}
	if (!t)
		return;
	(void)putchar('\n');
	cot_show_table(t);
}

/* Of the figure that a target is about, and which one that is. */
static void add_judged(struct cot_table *t, const json_t *window, const char *source)
{
	const json_t *which = json_object_get(window, "judged");
	const json_t *o = json_object_get(window, cot_show_text(window, "judged"));

	if (!json_is_string(which)) {
		cot_table_text(t, "-");
		cot_table_cell(t, "%s", source);
		return;
	}
	cot_table_cell(t, "%.2f/%.2f ms", cot_show_real(o, "p50_ms"), cot_show_real(o, "p99_ms"));
	cot_table_cell(t, "%s, %s", json_string_value(which), source);
}

static void add_missed(struct cot_table *t, const json_t *window)
{
	if (json_is_number(json_object_get(window, "missed_share")))
		cot_table_cell(t, "%.2f %%", 100 * cot_show_real(window, "missed_share"));
	else
		cot_table_text(t, "-");
}

static void add_target(struct cot_table *t, const json_t *tenant)
{
	const json_t *o = json_object_get(tenant, "target");

	char means[32] = "";

	if (!json_is_object(o)) {
		cot_table_text(t, "-");
		return;
	}
	/* What it comes to, where the policy has learned that. */
	if (!strcmp(cot_show_text(o, "kind"), "slowdown") &&
	    json_is_number(json_object_get(o, "ms")))
		(void)snprintf(means, sizeof(means), ": %.2f ms", cot_show_real(o, "ms"));
	else if (json_is_number(json_object_get(o, "keeps")))
		(void)snprintf(means, sizeof(means), ": has %.0f%%",
			       100 * cot_show_real(o, "keeps"));
	cot_table_cell(t, "%s %s%s", cot_show_text(o, "kind"), cot_show_text(o, "amount"), means);
}

/* In the last 10 s. */
static void add_requests(struct cot_table *t, const json_t *r)
{
	const json_t *w = json_array_get(json_object_get(r, "windows"), 1);
	unsigned i;

	for (i = 0; i < 7 && !json_is_object(r); i++)
		cot_table_text(t, "-");
	if (!json_is_object(r))
		return;
	cot_table_cell(t, "%lld", cot_show_number(r, "count"));
	cot_table_cell(t, "%.1f", cot_show_real(w, "per_second"));
	add_judged(t, w, cot_show_text(r, "source"));
	add_missed(t, w);
	cot_table_cell(t, "%lld", cot_show_number(r, "lost") + cot_show_number(r, "rejected"));
	cot_table_cell(t, "%lld", cot_show_number(r, "unclear"));
}

/* Programs whose requests are measured, and those with a target. */
static void print_requests(const json_t *tenants)
{
	static const char *const heads[] = {"~PROGRAM",	 "TARGET",  "REQUESTS",
					    "+A SECOND", "P50/P99", "+OF",
					    "MISSED",	 "+LOST",   "+UNCLEAR"};
	struct cot_table *t = NULL;
	json_t *o;
	size_t i;

	json_array_foreach (tenants, i, o) {
		const json_t *r = json_object_get(o, "requests");

		if (!json_is_object(r) && !json_is_object(json_object_get(o, "target")))
			continue;
		if (!t)
			t = cot_show_columns(heads, COT_ARRAY_LEN(heads));
		cot_table_text(t, cot_show_text(o, "name"));
		add_target(t, o);
		add_requests(t, r);
	}
	if (!t)
		return;
	(void)putchar('\n');
	cot_show_table(t);
}

static void add_watts(struct cot_table *t, const json_t *o, const char *key)
{
	if (json_is_number(json_object_get(o, key)))
		cot_table_cell(t, "%.1f W", json_number_value(json_object_get(o, key)));
	else
		cot_table_text(t, "-");
}

static void add_energy(struct cot_table *t, const char *name, const json_t *o,
		       const char *predicted)
{
	cot_table_text(t, name);
	cot_table_cell(t, "%.1f J", cot_show_real(o, "joules"));
	cot_table_cell(t, "%.1f s", cot_show_real(o, "seconds"));
	add_watts(t, o, "mean_w");
	add_watts(t, o, predicted);
	if (json_is_number(json_object_get(o, "gang")))
		cot_table_cell(t, "%lld", cot_show_number(o, "gang"));
	else
		cot_table_text(t, "-");
}

/* What the GPUs took, and of that each program's share, and each gang's. */
static void print_energy(const json_t *answer)
{
	static const char *const heads[] = {"~ENERGY OF", "JOULES",    "TIME",
					    "MEAN",	  "PREDICTED", "+GANG"};
	const json_t *tenants = json_object_get(answer, "tenants"), *e;
	struct cot_table *t = NULL;
	char name[32];
	json_t *o;
	size_t i;

	json_array_foreach (json_object_get(answer, "gpus"), i, o) {
		e = json_object_get(o, "energy");
		if (!json_is_object(e))
			continue;
		if (!t)
			t = cot_show_columns(heads, COT_ARRAY_LEN(heads));
		(void)snprintf(name, sizeof(name), "GPU %zu", i);
		add_energy(t, name, e, "predicted_w");
	}
	if (!t)
		return;
	json_array_foreach (tenants, i, o) {
		e = json_object_get(o, "energy");
		if (json_is_object(e))
			add_energy(t, cot_show_text(o, "name"), e, "predicted_alone_w");
	}
	json_array_foreach (json_object_get(answer, "gangs"), i, o)
		if (cot_show_number(o, "n_programs") > 1)
			add_energy(t, cot_show_text(o, "programs"), o, "predicted_w");
	(void)putchar('\n');
	cot_show_table(t);
}

/* How late the daemon came. */
static void print_timers(const json_t *timers)
{
	if (json_is_object(timers))
		(void)printf(
			"\nTimers: at worst %.1f ms late, by the daemon itself %.1f ms\n"
			"Too late by itself: %lld, by the machine's load: %lld, by its host: %lld\n",
			cot_show_real(timers, "worst_ms"), cot_show_real(timers, "worst_own_ms"),
			cot_show_number(timers, "late"), cot_show_number(timers, "waited"),
			cot_show_number(timers, "stolen"));
}

static void print_core(const json_t *answer)
{
	static const char *const heads[] = {"ACTION", "SENT", "FAILED", "TIMED OUT", "MEAN", "MAX"};
	static const char *const kinds[] = {"slice", "mode",  "freeze", "thaw",
					    "grant", "evict", "place"};
	const json_t *core = json_object_get(answer, "core");
	const json_t *daemon = json_object_get(answer, "daemon");
	const char *reason = json_string_value(json_object_get(daemon, "policy_reason"));
	struct cot_table *t = cot_show_columns(heads, COT_ARRAY_LEN(heads));
	unsigned i;

	(void)printf("\nPolicy %s%s%s%s\nFallbacks: %lld, last fault: %s, rescues: %lld\n",
		     cot_show_text(daemon, "policy"), reason ? " (" : "", reason ? reason : "",
		     reason ? ")" : "", cot_show_number(core, "fallbacks"),
		     cot_show_text(core, "fault"), cot_show_number(core, "rescues"));
	for (i = 0; i < COT_ARRAY_LEN(kinds); i++) {
		const json_t *k = json_object_get(core, kinds[i]);

		cot_table_text(t, kinds[i]);
		cot_table_cell(t, "%lld", cot_show_number(k, "sent"));
		cot_table_cell(t, "%lld", cot_show_number(k, "failed"));
		cot_table_cell(t, "%lld", cot_show_number(k, "timed_out"));
		cot_table_cell(t, "%.3f ms", cot_show_real(k, "mean_ms"));
		cot_table_cell(t, "%.3f ms", cot_show_real(k, "max_ms"));
	}
	cot_show_table(t);
	print_timers(json_object_get(answer, "timers"));
	(void)printf("Connections: %lld, refused: %lld, bad packets: %lld\n",
		     cot_show_number(answer, "connections"), cot_show_number(answer, "refused"),
		     cot_show_number(answer, "bad_packets"));
}

static void print(const json_t *answer)
{
	const json_t *tenants = json_object_get(answer, "tenants");

	print_entities(answer);
	print_works(tenants);
	cot_show_methods(tenants);
	print_parts(tenants);
	print_launches(tenants);
	print_cpu(tenants);
	print_requests(tenants);
	print_energy(answer);
	print_core(answer);
}

/* As the daemon wrote it. */
static int print_metrics(void)
{
	struct cot_error err = {{0}};
	char *text;
	int rc = cot_show_query_text(COT_QUERY_METRICS, &text, &err);

	if (rc < 0)
		return cot_show_end(rc, NULL, NULL, &err);
	(void)fputs(text, stdout);
	free(text);
	return COT_EXIT_OK;
}

int cot_cmd_stats(int argc, char **argv)
{
	struct cot_show_wishes wishes;
	struct cot_error err = {{0}};
	json_t *answer;
	int rc;

	if (cot_show_parse(argc, argv,
			   "Show slices, freezes and their latencies, and what the policy did.",
			   true, &wishes))
		return COT_EXIT_USAGE;
	if (wishes.prometheus)
		return print_metrics();
	rc = cot_show_query(COT_QUERY_STATS, &answer, &err);
	if (wishes.csv)
		return cot_show_end_csv(rc, answer, wishes.csv, &err);
	if (answer && !wishes.json)
		print(answer);
	return cot_show_end(rc, answer, answer ? wishes.json : NULL, &err);
}
