#include "bench/contention/lines.h"

#include <time.h>

#include "base/quote.h"

static void date(FILE *out)
{
	char text[32];
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm)) {
		fputc(',', out);
		cot_quote_write_member(out, "date", text);
	}
}

static void state(FILE *out, const struct cot_meter_state *s)
{
	fprintf(out,
		",\"sm_mhz\":%u,\"memory_mhz\":%u,\"celsius\":%u,\"usage_w\":%.3f,"
		"\"throttle\":%llu",
		s->sm_mhz, s->memory_mhz, s->celsius, s->power_mw * 1e-3, s->throttle);
}

void cot_lines_machine(FILE *out, const struct cot_lines_machine *m)
{
	struct cot_meter_state s;

	cot_meter_read(m->meter, &s);
	fprintf(out, "{\"kind\":\"machine\",\"schema\":\"cotenant.contention/1\",");
	cot_quote_write_member(out, "gpu", m->cuda->name);
	date(out);
	fprintf(out, ",\"version\":\"%s\",\"cuda_driver\":%d,", COT_VERSION,
		m->cuda->driver_version);
	cot_quote_write_member(out, "driver", m->meter->driver_version);
	fputc(',', out);
	cot_quote_write_member(out, "command", m->command);
	fprintf(out,
		",\"sms\":%d,\"capability\":%d,\"green_contexts\":%s,\"energy\":%s,"
		"\"data_bytes\":%llu,\"l2_bytes\":%llu,\"lead_ns\":%llu,\"settle_ns\":%llu,"
		"\"window_ns\":%llu,\"timer_step_ns\":%llu,\"timer_cycles\":%.1f,\"limit_w\":%.1f",
		m->cuda->n_sms, m->cuda->capability, m->partitions->has_green ? "true" : "false",
		m->meter->has_energy ? "true" : "false", (unsigned long long)m->runner->data_bytes,
		(unsigned long long)m->runner->l2_bytes, (unsigned long long)m->times->lead_ns,
		(unsigned long long)m->times->settle_ns, (unsigned long long)m->times->window_ns,
		(unsigned long long)m->runner->timer_step_ns, m->runner->timer_cycles,
		s.limit_mw * 1e-3);
	state(out, &s);
	fputs("}\n", out);
	fflush(out);
}

void cot_lines_families(FILE *out)
{
	unsigned i;

	for (i = 0; i < cot_n_families; i++) {
		const struct cot_family *f = &cot_families[i];

		fputs("{\"kind\":\"kernel\",", out);
		cot_quote_write_member(out, "kernel", f->entry);
		fprintf(out,
			",\"loads_ahead\":%u,\"insts\":%.0f,\"fma\":%.0f,\"dfma\":%.0f,"
			"\"whole\":%.0f,\"special\":%.0f,\"shared\":%.0f,\"loads\":%.0f,"
			"\"stores\":%.0f,\"read_bytes\":%.0f,\"written_bytes\":%.0f}\n",
			f->loads_ahead, f->insts, f->fma, f->dfma, f->whole, f->special, f->shared,
			f->loads, f->stores, f->read_bytes, f->written_bytes);
	}
	fflush(out);
}

static const char *memory_name(enum cot_mix_memory memory)
{
	static const char *const names[] = {"none", "dram", "l2"};

	return names[memory];
}

static void mix(FILE *out, const struct cot_mix *m, const struct cot_mix_result *results)
{
	uint32_t i;

	fprintf(out, ",\"on_rest\":%s,\"shared\":%s,\"mix\":[", m->on_rest ? "true" : "false",
		m->shared ? "true" : "false");
	for (i = 0; i < m->n; i++) {
		const struct cot_mix_part *p = &m->parts[i];

		fprintf(out, "%s{\"kernel\":\"%s\",\"memory\":\"%s\",\"warps\":%u,\"sms\":%u",
			i ? "," : "", p->family->entry, memory_name(p->memory), p->warps, p->sms);
		if (results) {
			const struct cot_mix_result *r = &results[i];

			fprintf(out,
				",\"chunks_per_s\":%.6g,\"chunks_per_cycle\":%.6g,\"mhz\":%.2f,\"n_warps\":%u,\"n_late\":%u,\"n_starved\":%u,"
				"\"n_sms\":%u,\"warps_least\":%u,\"warps_most\":%u,"
				"\"sm_least\":%.6g,\"sm_most\":%.6g",
				r->chunks_per_s, r->chunks_per_cycle, r->mhz, r->n_warps, r->n_late,
				r->n_starved, r->n_sms, r->warps_least, r->warps_most, r->sm_least,
				r->sm_most);
		}
		fputc('}', out);
	}
	fputc(']', out);
}

void cot_lines_rate(FILE *out, const struct cot_point *point, uint32_t repeat,
		    const struct cot_mix_result *results)
{
	fprintf(out, "{\"kind\":\"rate\",\"stage\":\"%s\",\"repeat\":%u",
		cot_stage_names[point->stage], repeat);
	mix(out, &point->mix, results);
	fputs("}\n", out);
	fflush(out);
}

static void window(FILE *out, const struct cot_meter_window *w)
{
	double watts = cot_meter_watts(w);

	if (watts >= 0)
		fprintf(out, ",\"watts\":%.4f,\"joules\":%.4f,\"seconds\":%.6f", watts,
			(double)(w->last_mj - w->first_mj) * 1e-3, w->last_s - w->first_s);
	fprintf(out, ",\"energy_steps\":%u,\"energy_reads\":%u,\"least_step_s\":%.6f", w->n_steps,
		w->n_reads, w->n_steps > 1 ? w->least_step_s : 0.0);
}

void cot_lines_power(FILE *out, const struct cot_point *point, const struct cot_mix_result *results,
		     const struct cot_meter_window *w, const struct cot_meter_state *s)
{
	fprintf(out, "{\"kind\":\"power\",\"stage\":\"%s\"", cot_stage_names[point->stage]);
	mix(out, &point->mix, results);
	window(out, w);
	state(out, s);
	fputs("}\n", out);
	fflush(out);
}

void cot_lines_benchmark(FILE *out, const struct cot_point *point,
			 const struct cot_bench_power *power)
{
	fprintf(out, "{\"kind\":\"power\",\"stage\":\"%s\",", cot_stage_names[point->stage]);
	cot_quote_write_member(out, "benchmark", point->benchmark->name);
	fprintf(out, ",\"runs_per_s\":%.6g,\"n_runs\":%u,\"make_s\":%.3f", power->runs_per_s,
		power->n_runs, power->make_s);
	window(out, &power->window);
	state(out, &power->state);
	fputs("}\n", out);
	fflush(out);
}

void cot_lines_failure(FILE *out, const struct cot_point *point, const char *why)
{
	fprintf(out, "{\"kind\":\"failure\",\"stage\":\"%s\"", cot_stage_names[point->stage]);
	if (point->benchmark) {
		fputc(',', out);
		cot_quote_write_member(out, "benchmark", point->benchmark->name);
	} else {
		mix(out, &point->mix, NULL);
	}
	fputc(',', out);
	cot_quote_write_member(out, "why", why);
	fputs("}\n", out);
	fflush(out);
}

void cot_lines_end(FILE *out, const char *why, double seconds, uint32_t n_measured,
		   uint32_t n_points)
{
	fputs("{\"kind\":\"end\",", out);
	cot_quote_write_member(out, "why", why);
	fprintf(out, ",\"seconds\":%.1f,\"measured\":%u,\"points\":%u}\n", seconds, n_measured,
		n_points);
	fflush(out);
}
