/*
 * A recording as a timeline: a track for each program with its states, marks where something
 * changed, and counters of what was measured.
 */
#include <string.h>

#include "base/quote.h"
#include "report/events.h"
#include "report/recording.h"

#define PID	     1u
#define TID_ALL	     1u /* changes of pools and the daemon */
#define TID(program) (2u + (program))

static uint64_t ps(double ms)
{
	return (uint64_t)(ms * 1e3) * 1000000u;
}

static bool same_state(const struct cot_record_point *a, const struct cot_record_point *b)
{
	return a->program == b->program && !strcmp(a->state, b->state);
}

/* One bar for each stretch of samples with the same state. */
static void states(struct cot_events *e, const struct cot_record *r, uint32_t program)
{
	const struct cot_record_point *begin = NULL, *p = NULL;
	uint32_t i;

	for (i = 0; i <= r->n_points; i++) {
		bool last = i == r->n_points;

		if (!last && r->points[i].program != program)
			continue;
		if (begin && (last || !same_state(begin, &r->points[i]))) {
			double end_ms = last ? p->at_ms : r->points[i].at_ms;

			cot_events_open_complete(e, PID, TID(program),
						 begin->state[0] ? begin->state : "there");
			cot_events_times(e, ps(begin->at_ms), ps(end_ms));
			(void)fputs("}", e->out);
			begin = NULL;
		}
		if (last)
			break;
		p = &r->points[i];
		begin = begin ? begin : p;
	}
}

static void counters(struct cot_events *e, const struct cot_record *r, uint32_t i)
{
	const struct cot_record_point *p = &r->points[i];
	const struct cot_record_times *t = p->times[COT_RECORD_1S];
	const struct {
		const char *name;
		bool known;
		double value;
	} values[] = {
		{": p99 of responses, ms", t[COT_RECORD_RESPONSE].n > 0,
		 t[COT_RECORD_RESPONSE].p99_ms},
		{": p99 of services, ms", t[COT_RECORD_SERVICE].n > 0,
		 t[COT_RECORD_SERVICE].p99_ms},
		{": launches per s", p->launches_per_s > 0, p->launches_per_s},
		{": slice, us", p->slice_us > 0, p->slice_us},
		{": SMs", p->has_sms > 0, p->has_sms},
	};
	unsigned k;

	for (k = 0; k < COT_ARRAY_LEN(values); k++)
		if (values[k].known)
			cot_events_counter(e, PID, TID(p->program), ps(p->at_ms),
					   r->programs[p->program].name, values[k].name,
					   values[k].value);
}

static unsigned track_of(const struct cot_record *r, const char *who)
{
	uint32_t i;

	for (i = 0; i < r->n_programs; i++)
		if (!strcmp(r->programs[i].name, who))
			return TID(i);
	return TID_ALL;
}

static void change(struct cot_events *e, const struct cot_record *r, uint32_t i)
{
	const struct cot_record_change *c = &r->changes[i];
	char name[256];

	(void)snprintf(name, sizeof(name), "%s: %s %s", c->who, c->what, c->to);
	cot_events_open(e, "i", PID, track_of(r, c->who));
	cot_quote_write(e->out, name);
	(void)fprintf(e->out, ",\"cat\":\"change\",\"s\":\"t\",\"ts\":%.0f,\"args\":{",
		      c->at_ms * 1e3);
	cot_quote_write_member(e->out, "from", c->from);
	(void)fputc(',', e->out);
	cot_quote_write_member(e->out, "to", c->to);
	(void)fputc(',', e->out);
	cot_quote_write_member(e->out, "why", c->why);
	(void)fputs("}}", e->out);
}

void cot_recording_print_timeline(const struct cot_record *r, FILE *out)
{
	struct cot_events e;
	uint32_t i;

	cot_events_begin(&e, out, "ms");
	cot_events_process(&e, PID, TID_ALL, r->gpu[0] ? r->gpu : "GPU", 1);
	cot_events_track(&e, PID, TID_ALL, "pools and policy", "");
	for (i = 0; i < r->n_programs; i++) {
		cot_events_track(&e, PID, TID(i), r->programs[i].name, "");
		states(&e, r, i);
	}
	for (i = 0; i < r->n_points; i++)
		counters(&e, r, i);
	for (i = 0; i < r->n_changes; i++)
		change(&e, r, i);
	cot_events_end(&e);
}
