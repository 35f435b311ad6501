/*
 * Are the same ranges of SMs the same SMs for two programs of one MPS server? The numbers that
 * programs see do not say it, so two probes (doctor_fill.c) show it:
 *
 *   - Each unit: while the one has a block on each of its SMs, the other one's blocks wait if they
 *     are for the same unit, and begin if they are for any other.
 *   - Halves of the GPU: on the same one each gets half of its rate, on its own one the whole.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/show.h"

#define START_MS 30000
#define WORK_MS	 20000
#define GONE_MS	 2000
#define LOOK_MS	 20
/* Blocks that can begin do so well within the one. Those that cannot are watched for the other, and
 * for so many times as long as any that could have taken. */
#define BEGIN_MS   2000u
#define WAIT_MS	   60u
#define WAIT_TIMES 10u
#define TRIES	   10 /* of a measurement that a busy computer has spoilt */
/* What still counts as half of the rate, or as the whole. */
#define MOST_OF_TWO 1.25
#define LEAST_ALONE 0.9

#define FOR_EACH_PROBE(i) for ((i) = 0; (i) < 2; (i)++)

struct two {
	struct cot_doctor_child probe[2];
	unsigned n_sms, unit, n_units;
	unsigned half;	       /* units */
	unsigned longest_ms;   /* that blocks took to begin */
	double one[2], own[2]; /* rates, of those alone */
	unsigned n_same;       /* units that are the same SMs for both */
	unsigned n_meet;       /* SMs that other units have in common with them */
};

/* ---- asking; false: it has failed, and the last line says why ---- */

#define ask(c, ...) cot_doctor_child_ask(c, WORK_MS, __VA_ARGS__)

static bool does(struct cot_doctor_child *c, const char *line)
{
	return ask(c, "%s", line) && !strcmp(c->line, "ok");
}

static bool be_on(struct cot_doctor_child *c, unsigned from, unsigned to)
{
	return ask(c, "part %u %u", from, to) && !strcmp(c->line, "ok");
}

static bool time_kernel(struct cot_doctor_child *c, double *ret_us)
{
	return ask(c, "rate") && cot_doctor_numbers(c->line, "took", 1, ret_us) && *ret_us > 0;
}

/* On `n` SMs. */
static bool hold(struct two *t, struct cot_doctor_child *c, unsigned n, unsigned ms,
		 unsigned *ret_here)
{
	double here[2];

	if (!ask(c, "hold %u", ms) || !cot_doctor_numbers(c->line, "here", 2, here))
		return false;
	*ret_here = (unsigned)here[0];
	if (*ret_here == n && here[1] > t->longest_ms)
		t->longest_ms = (unsigned)here[1];
	return true;
}

/* ---- rates ---- */

static bool measure_beside(struct cot_doctor_child *c, struct cot_doctor_child *other,
			   double *ret_us)
{
	int n = 0;

	do
		if (!does(other, "busy") || !time_kernel(c, ret_us) || !ask(other, "idle"))
			return false;
	while (!strcmp(other->line, "gaps") && ++n < TRIES);
	return !strcmp(other->line, "ok") || !strcmp(other->line, "gaps");
}

/* The one on the lower half; the other one there, too, or on the upper half. */
static bool measure_rates(struct two *t, bool same, double ret_rates[2])
{
	struct cot_doctor_child *a = &t->probe[0], *b = &t->probe[1];
	unsigned from = same ? 0 : t->half, i;
	double alone_us[2], us[2];

	if (!be_on(a, 0, t->half) || !be_on(b, from, from + t->half))
		return false;
	FOR_EACH_PROBE(i)
	{
		if (!time_kernel(&t->probe[i], &alone_us[i]) ||
		    !measure_beside(&t->probe[i], &t->probe[1 - i], &us[i]))
			return false;
		ret_rates[i] = alone_us[i] / us[i];
	}
	return true;
}

/* ---- who is where ---- */

static unsigned sms_of(const struct two *t, unsigned from, unsigned to)
{
	return to < t->n_units ? (to - from) * t->unit : t->n_sms - from * t->unit;
}

/* While the one holds all SMs of the unit: on how many SMs of [from, to) the other's blocks do not
 * begin. */
static bool count_common(struct two *t, unsigned unit, unsigned from, unsigned to, unsigned ms,
			 unsigned *ret_common)
{
	struct cot_doctor_child *a = &t->probe[0], *b = &t->probe[1];
	unsigned own = sms_of(t, unit, unit + 1), all = sms_of(t, from, to), n, here;

	*ret_common = 0;
	if (from == to)
		return true;
	if (!be_on(a, unit, unit + 1) || !hold(t, a, own, BEGIN_MS, &n) || n != own ||
	    !be_on(b, from, to) || !hold(t, b, all, ms, &here))
		return false;
	*ret_common = all - here;
	return does(a, "free") && does(b, "free");
}

static unsigned wait_ms(const struct two *t)
{
	unsigned ms = WAIT_TIMES * t->longest_ms;

	return ms < WAIT_MS ? WAIT_MS : ms < BEGIN_MS ? ms : BEGIN_MS;
}

static bool try_units(struct two *t)
{
	unsigned u, below, above, own;

	for (u = 0; u < t->n_units; u++) {
		if (!count_common(t, u, 0, u, BEGIN_MS, &below) ||
		    !count_common(t, u, u + 1, t->n_units, BEGIN_MS, &above) ||
		    !count_common(t, u, u, u + 1, wait_ms(t), &own))
			return false;
		t->n_meet += below + above;
		t->n_same += own == sms_of(t, u, u + 1);
	}
	return true;
}

/* ---- the verdict ---- */

static json_t *figures(const struct two *t)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:[f, f], s:[f, f]}", "gpu_sms",
			 (int)t->n_sms, "unit_sms", (int)t->unit, "units", (int)t->n_units,
			 "same_units", (int)t->n_same, "sms_in_other_units", (int)t->n_meet,
			 "part_sms", (int)(t->half * t->unit), "rates_on_one_part", t->one[0],
			 t->one[1], "rates_on_own_parts", t->own[0], t->own[1]);
}

static void judge(struct cot_findings *f, const struct two *t)
{
	bool same = t->n_same == t->n_units && !t->n_meet;
	bool half = t->one[0] + t->one[1] <= MOST_OF_TWO;
	bool whole = t->own[0] >= LEAST_ALONE && t->own[1] >= LEAST_ALONE;
	struct cot_finding *finding = cot_doctor_add(
		f, "parts",
		!same || !half ? COT_FINDING_FAIL
		: !whole       ? COT_FINDING_WARN
			       : COT_FINDING_OK,
		"the same ranges are %sthe same SMs for two programs: of %u units, %u kept the "
		"other program's blocks out, and %u SMs of other units did; on the same %u SMs the "
		"two have %.2f and %.2f of their rates, on SMs of their own %.2f and %.2f",
		same && half ? "" : "not ", t->n_units, t->n_same, t->n_meet, t->half * t->unit,
		t->one[0], t->one[1], t->own[0], t->own[1]);

	finding->figures = figures(t);
	if (!same || !half)
		cot_doctor_advise(finding, "do not use --sms or 'policy: parts' here: programs "
					   "would meet on SMs that should be one's own");
	else if (!whole)
		cot_doctor_advise(finding, "nothing else may use the GPU while this is measured; "
					   "if nothing does, parts keep programs apart here, but "
					   "not at their full rates");
}

/* ---- where it cannot be measured ---- */

static void skip(struct cot_findings *f, const char *why, const char *advice)
{
	struct cot_finding *finding = cot_doctor_add(
		f, "parts", COT_FINDING_SKIP, "whether parts are apart was not measured: %s", why);

	if (advice)
		cot_doctor_advise(finding, "%s", advice);
}

/* Does the daemon have programs? Those of the checks before go soon; those that it does not know
 * cannot be seen. */
static bool is_used(void)
{
	struct cot_error err;
	bool used = true;
	json_t *answer;
	unsigned i;

	for (i = 0; used && i < GONE_MS / LOOK_MS; i++) {
		if (i)
			(void)usleep(LOOK_MS * 1000);
		if (cot_show_query(COT_QUERY_PS, &answer, &err) < 0)
			return false;
		used = json_array_size(json_object_get(answer, "tenants")) > 0;
		json_decref(answer);
	}
	return used;
}

/* It is there, can be on parts, and is a client of a server. */
static bool start_one(struct cot_findings *f, struct two *t, struct cot_doctor_child *c)
{
	double ready[4];

	if (!cot_doctor_child_start(c, false, "parts") || !cot_doctor_child_read(c, START_MS)) {
		(void)cot_doctor_add(f, "parts", COT_FINDING_FAIL,
				     "a program in the pool does not start");
		return false;
	}
	if (!strncmp(c->line, "cannot ", 7)) {
		skip(f, c->line + 7,
		     "parts need a driver of CUDA 12.5 or newer, a GPU that it can divide, and no "
		     "share of MPS's threads (CUDA_MPS_ACTIVE_THREAD_PERCENTAGE)");
		return false;
	}
	if (!cot_doctor_numbers(c->line, "ready", 4, ready)) {
		(void)cot_doctor_add(f, "parts", COT_FINDING_FAIL,
				     "a program in the pool does not run: %s", c->line);
		return false;
	}
	if (ready[0] != 1) {
		skip(f, "programs are not clients of one MPS server",
		     "parts need MPS, and 'policy: parts' or 'policy: pools'");
		return false;
	}
	t->n_sms = (unsigned)ready[1];
	t->unit = (unsigned)ready[2];
	t->n_units = (unsigned)ready[3];
	t->half = t->n_units / 2;
	return true;
}

static bool start(struct cot_findings *f, struct two *t)
{
	if (!start_one(f, t, &t->probe[0]) || !start_one(f, t, &t->probe[1]))
		return false;
	if (!t->half)
		skip(f, "this GPU has a single unit of SMs", NULL);
	return t->half > 0;
}

static void measure(struct cot_findings *f, struct two *t)
{
	unsigned i;

	if (measure_rates(t, true, t->one) && measure_rates(t, false, t->own) && try_units(t)) {
		judge(f, t);
		return;
	}
	FOR_EACH_PROBE(i)
	{
		const char *line = t->probe[i].line;

		if (!strncmp(line, "error ", 6) || !line[0])
			(void)cot_doctor_add(f, "parts", COT_FINDING_FAIL,
					     "a program on a part does not run: %s",
					     line[0] ? line : "no answer");
	}
}

void cot_doctor_parts(struct cot_findings *f)
{
	struct two t = {.n_sms = 0};
	unsigned i;

	if (is_used()) {
		skip(f, "programs use the GPU now", "run it again when 'cotenant ps' is empty");
		return;
	}
	if (start(f, &t))
		measure(f, &t);
	FOR_EACH_PROBE(i) cot_doctor_child_stop(&t.probe[i]);
}
