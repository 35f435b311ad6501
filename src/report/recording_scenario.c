/*
 * A scenario from a recording: of each program what it did best is taken for what it does alone,
 * and as much of its work comes as was recorded.
 */
#include <math.h>
#include <string.h>

#include "base/quote.h"
#include "report/recording.h"
#include "sim/series.h"

#define PER_S_MIN	  0.1 /* of arrivals */
#define PER_S_MAX	  1e6
#define KERNEL_US_MIN	  1.0
#define KERNEL_US_MAX	  1e7
#define OPEN_BUSY_MAX	  0.8 /* our choice: beyond, random requests would queue up */
#define UNKNOWN_KERNEL_US 1000.0
#define SIZE_CV_MAX	  2.0 /* of a scenario */
#define SIZE_CV_LEAST	  0.01
#define NORMAL_P99	  2.3263478740408408 /* of the standard normal distribution */

static double within(double x, double min, double max)
{
	return x < min ? min : x > max ? max : x;
}

static void member(FILE *out, const char *key, const char *text)
{
	if (!text[0])
		return;
	(void)fprintf(out, "    %s: ", key);
	cot_quote_write(out, text);
	(void)fputc('\n', out);
}

static bool is_latency(const struct cot_record_program *p)
{
	return !strcmp(p->class_, "latency");
}

static double alone_ms(const struct cot_record_total *t)
{
	return t->service_alone.n ? t->service_alone.p50_ms : t->service_best.p50_ms;
}

/* Of a lognormal distribution with this median and 99th percentile: the variance of its logarithm,
 * which is ln(1 + cv^2). Of a program that never was alone all that was recorded counts. */
static double log_variance(const struct cot_record_total *t)
{
	const struct cot_record_times *s =
		t->service_alone.n ? &t->service_alone : &t->times[COT_RECORD_SERVICE];
	double most = cot_ln_series(1.0 + SIZE_CV_MAX * SIZE_CV_MAX);
	double ratio = s->p50_ms > 0 ? s->p99_ms / s->p50_ms : 1.0;
	double sigma = 0;

	/* The series is good to 5. */
	for (; ratio > 5.0 && sigma * sigma < most * NORMAL_P99 * NORMAL_P99; ratio /= 5.0)
		sigma += cot_ln_series(5.0);
	sigma = (sigma + cot_ln_series(within(ratio, 1.0, 5.0))) / NORMAL_P99;
	return within(sigma * sigma, 0.0, most);
}

bool cot_recording_can_play(const struct cot_record_program *p, const struct cot_record_total *t)
{
	return alone_ms(t) > 0 || !is_latency(p);
}

static void put_kernel(FILE *out, uint32_t n_sms, double us)
{
	(void)fprintf(out,
		      "    program:\n      - kernel: {name: work, blocks: %u, kernel_us: %.3f, "
		      "blocks_per_sm: 1, regs_per_block: 16384}\n      - sync\n",
		      n_sms, within(us, KERNEL_US_MIN, KERNEL_US_MAX));
}

static double busy(const struct cot_record_total *t)
{
	return t->per_s * t->times[COT_RECORD_SERVICE].p50_ms / 1e3;
}

bool cot_recording_is_open(const struct cot_record_total *t)
{
	return t->times[COT_RECORD_RESPONSE].n && busy(t) < OPEN_BUSY_MAX;
}

static void put_requests(FILE *out, const struct cot_record_total *t, double size_cv)
{
	bool open = cot_recording_is_open(t);
	double per_s = t->per_s;

	if (!open)
		per_s /= 1.0 - (busy(t) < 0.99 ? busy(t) : 0.99);
	(void)fprintf(out, "    arrivals: {per_s: %.6g, gaps: %s",
		      within(per_s, PER_S_MIN, PER_S_MAX), open ? "random" : "after");
	if (size_cv >= SIZE_CV_LEAST)
		(void)fprintf(out, ", size_cv: %.4f", size_cv);
	(void)fputs("}\n", out);
}

static void put_app(FILE *out, const struct cot_record_program *p, const struct cot_record_total *t,
		    uint32_t n_sms, const char *name)
{
	double launches =
		t->launches_alone_per_s > 0 ? t->launches_alone_per_s : t->launches_best_per_s;

	(void)fputs("  - name: ", out);
	cot_quote_write(out, name);
	(void)fputc('\n', out);
	member(out, "class", p->class_);
	if (p->weight)
		(void)fprintf(out, "    weight: %u\n", p->weight);
	if (!strcmp(p->target_kind, "p99") || !strcmp(p->target_kind, "slowdown") ||
	    !strcmp(p->target_kind, "rate"))
		member(out, p->target_kind, p->target);
	if (t->from_ms >= 1)
		(void)fprintf(out, "    start_us: %.0f\n", t->from_ms * 1e3);
	if (alone_ms(t) > 0) {
		double v = log_variance(t);

		if (!t->service_alone.n)
			(void)fputs("    # never alone: the median of its best second, and the "
				    "spread that others were part of\n",
				    out);
		put_requests(out, t, sqrt(cot_exp_series(v) - 1.0));
		/* The mean, of which sizes are a multiple. */
		put_kernel(out, n_sms, alone_ms(t) * 1e3 * cot_exp_series(v / 2.0));
	} else if (launches > 0) {
		put_kernel(out, n_sms, 1e6 / launches);
	} else {
		(void)fputs("    # launches not counted: kernels of 1 ms are assumed\n", out);
		put_kernel(out, n_sms, UNKNOWN_KERNEL_US);
	}
}

bool cot_recording_is_on(const struct cot_record_program *p, uint32_t gpus)
{
	return !p->gpus || (p->gpus & gpus);
}

void cot_recording_print_scenario(const struct cot_record *r, uint32_t gpus, const char *model,
				  uint32_t n_sms, FILE *out)
{
	struct cot_record_total t;
	char name[COT_RECORDING_NAME_MAX];
	uint32_t i;

	(void)fprintf(
		out,
		"# From a recording. Requests take what they took in the seconds alone; batch "
		"programs do what\n# they did in their best second.\nschema: "
		"cotenant.scenario/1\ngpu: %s\nscheduler: timeslice\n",
		model);
	if (r->policy[0]) {
		(void)fputs("policy: ", out);
		cot_quote_write(out, r->policy);
		(void)fputc('\n', out);
	}
	(void)fprintf(out, "quantum_us: 2048\nseed: 1\nstop: {at_us: %.0f}\napps:\n",
		      within(r->end_ms, 1, 1e7) * 1e3);
	for (i = 0; i < r->n_programs; i++) {
		const struct cot_record_program *p = &r->programs[i];

		cot_record_sum_up(r, i, &t);
		if (!cot_recording_is_on(p, gpus) || !cot_recording_can_play(p, &t))
			continue;
		if (p->gpus & (p->gpus - 1))
			(void)fputs("  # on several GPUs: what it does on this one is not known\n",
				    out);
		put_app(out, p, &t, n_sms, cot_recording_name(r, i, name));
	}
}

const char *cot_recording_name(const struct cot_record *r, uint32_t program,
			       char ret_name[COT_RECORDING_NAME_MAX])
{
	const char *name = r->programs[program].name;
	uint32_t i;

	for (i = 0; i < r->n_programs; i++)
		if (i != program && !strcmp(r->programs[i].name, name))
			break;
	if (i == r->n_programs)
		(void)snprintf(ret_name, COT_RECORDING_NAME_MAX, "%.63s", name);
	else
		(void)snprintf(ret_name, COT_RECORDING_NAME_MAX, "%.54s#%u", name, program + 1);
	return ret_name;
}
