#include "sched/event_log.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/words.h"
#include "sched/event_log_inside.h"

const char *const cot_event_log_events[COT_EV_N_TYPES] = {
	[COT_EV_TICK] = "tick",
	[COT_EV_TENANT] = "tenant",
	[COT_EV_TENANT_LEFT] = "left",
	[COT_EV_POOL] = "pool",
	[COT_EV_POOL_LEFT] = "pool-left",
	[COT_EV_ACTIVITY] = "activity",
	[COT_EV_DONE] = "done",
	[COT_EV_FOUND] = "found",
	[COT_EV_HOLD] = "hold",
	[COT_EV_WORK] = "work",
	[COT_EV_WORK_EVICTED] = "evicted",
	[COT_EV_WORK_DONE] = "work-done",
	[COT_EV_PARTS] = "parts",
	[COT_EV_PLACED] = "placed",
	[COT_EV_WINDOW] = "window",
	[COT_EV_PROGRESS] = "progress",
	[COT_EV_PREDICTION] = "prediction",
	[COT_EV_LESSON] = "lesson",
	[COT_EV_QUERY] = "query",
	[COT_EV_QUERY_TASKS] = "tasks",
	[COT_EV_QUERY_END] = "query-end",
};
const char *const cot_event_log_actions[COT_N_ACTIONS] = {
	[COT_ACTION_SLICE] = "slice", [COT_ACTION_MODE] = "mode",   [COT_ACTION_FREEZE] = "freeze",
	[COT_ACTION_THAW] = "thaw",   [COT_ACTION_GRANT] = "grant", [COT_ACTION_EVICT] = "evict",
	[COT_ACTION_PLACE] = "place",
};
const char *const cot_event_log_activities[3] = {"unknown", "idle", "active"};
const char *const cot_event_log_methods[2] = {"quota", "reserve"};
const char *const cot_event_log_horizons[COT_N_HORIZONS] = {"1s", "10s", "60s"};
const char *const cot_event_log_sources[2] = {"marked", "bursts"};
const char *const cot_event_log_responses[N_TIMES] = {
	"responses=", "missed=", "p50_ns=", "p95_ns=", "p99_ns=",
};
const char *const cot_event_log_services[N_TIMES] = {
	"services=", "service_missed=", "service_p50_ns=", "service_p95_ns=", "service_p99_ns=",
};

/* ---- printing ---- */

static const char *name_of(const char *const *names, unsigned n, unsigned i)
{
	return i < n ? names[i] : "?";
}

#define NAME(names, i) name_of(names, N(names), (unsigned)(i))

#define PART " part=%" PRIu32 "+%" PRIu32 "%s"

/* Behind a part, if it has a pace, holds, or is on the CPU. */
#define PACE_TEXT_MAX 24

static const char *pace_text(uint32_t pace_us, char text[PACE_TEXT_MAX])
{
	*text = '\0';
	if (pace_us)
		(void)snprintf(text, PACE_TEXT_MAX, "@%" PRIu32, pace_us);
	return text;
}

static const char *behind(struct cot_part part, char text[PACE_TEXT_MAX])
{
	char pace[PACE_TEXT_MAX];

	(void)snprintf(text, PACE_TEXT_MAX, "%.12s%s%s", pace_text(part.pace_us, pace),
		       part.hold ? "/hold" : "", part.cpu ? "/cpu" : "");
	return text;
}

/* How many there are, where that is not as many as fit. */
static const char *units_text(uint32_t n_units, char text[PACE_TEXT_MAX])
{
	*text = '\0';
	if (n_units)
		(void)snprintf(text, PACE_TEXT_MAX, "*%" PRIu32, n_units);
	return text;
}

static const char *share_text(struct cot_share s, char buf[COT_SHARE_WORD_MAX])
{
	return s.sms || s.pct ? cot_share_word(s, buf) : "0";
}

static void print_tenant(char *s, size_t size, const struct cot_tenant_desc *t)
{
	char quota[COT_SHARE_WORD_MAX], reserve[COT_SHARE_WORD_MAX], sms[COT_SHARE_WORD_MAX];
	char pace[PACE_TEXT_MAX];

	(void)snprintf(s, size,
		       " class=%s weight=%" PRIu32 " gpus=0x%" PRIx64 " pool=%" PRIu32
		       " ready=%d block_us=%" PRIu32 " target=%s amount=%" PRIu32
		       " quota=%s reserve=%s sms=%s%s key=0x%" PRIx64,
		       NAME(cot_class_words, t->cls), t->weight, t->gpu_mask, t->pool, t->ready,
		       t->block_us, NAME(cot_target_words, t->target.kind), t->target.amount,
		       share_text(t->quota, quota), share_text(t->reserve, reserve),
		       share_text(t->sms, sms), pace_text(t->pace_us, pace), t->key);
}

static void print_work(char *s, size_t size, const struct cot_work_desc *w)
{
	(void)snprintf(s, size,
		       " tenant=%" PRIu32 " gpu=%" PRIu32 " sms=%" PRIu32
		       " method=%s settle=%d grow=%d tasks=%" PRIu32 " per_sm=%" PRIu32
		       " want=%" PRIu32 " reserve=%" PRIu32 " task_ns=%" PRIu32,
		       w->tenant, w->gpu, w->n_sms, NAME(cot_event_log_methods, w->method),
		       w->can_settle, w->can_grow, w->n_tasks, w->per_sm, w->asked, w->reserve,
		       w->task_ns);
}

static void print_times(char *s, size_t size, const struct cot_times *t,
			const char *const keys[N_TIMES])
{
	(void)snprintf(s, size,
		       " %s%" PRIu64 " %s%" PRIu64 " %s%" PRIu64 " %s%" PRIu64 " %s%" PRIu64,
		       keys[0], t->n, keys[1], t->n_missed, keys[2], t->p50_ns, keys[3], t->p95_ns,
		       keys[4], t->p99_ns);
}

static void print_window(char *s, size_t size, const struct cot_window *w)
{
	char response[COT_EVENT_LOG_LINE_MAX / 2], service[COT_EVENT_LOG_LINE_MAX / 2];

	print_times(response, sizeof(response), &w->response, cot_event_log_responses);
	print_times(service, sizeof(service), &w->service, cot_event_log_services);
	(void)snprintf(s, size, " horizon=%s source=%s%s%s",
		       NAME(cot_event_log_horizons, w->horizon),
		       NAME(cot_event_log_sources, w->source), response, service);
}

static void print_lesson(char *s, size_t size, const struct cot_lesson *l)
{
	const uint32_t *v = l->value;

	(void)snprintf(s, size,
		       " key=0x%" PRIx64 " kind=%" PRIu32 " values=%" PRIu32 ",%" PRIu32 ",%" PRIu32
		       ",%" PRIu32 ",%" PRIu32 ",%" PRIu32,
		       l->key, l->kind, v[0], v[1], v[2], v[3], v[4], v[5]);
}

static void print_query(char *s, size_t size, const struct cot_query_desc *q)
{
	(void)snprintf(s, size,
		       " tenant=%" PRIu32 " size=%" PRIu64 " arrived_ns=%" PRIu64
		       " began_ns=%" PRIu64 " in_ns=%" PRIu64 " out_ns=%" PRIu64 " plan=0x%" PRIx64,
		       q->tenant, q->size, q->arrived_ns, q->began_ns, q->in_ns, q->out_ns,
		       q->plan_key);
}

static void print_prediction(char *s, size_t size, const struct cot_event *ev)
{
	const struct cot_prediction *is = &ev->prediction.is;
	const struct cot_cost *cost = &ev->prediction.cost;
	size_t n = (size_t)snprintf(s, size,
				    " row=%" PRIu32 " of=%" PRIu32 " sms=%" PRIu32
				    " duration_ns=%" PRIu64 " bytes_per_s=%" PRIu64
				    " ipc_milli=%" PRIu32,
				    ev->prediction.row, ev->prediction.n, is->sms, is->duration_ns,
				    is->bytes_per_s, is->ipc_milli);

	if (is->kernel_ns)
		n += (size_t)snprintf(s + n, size - n, " kernel_ns=%" PRIu64, is->kernel_ns);
	if (cost->power_w || cost->cpu_w || cost->cpu_ns)
		(void)snprintf(s + n, size - n,
			       " power_w=%" PRIu32 " cpu_w=%" PRIu32 " cpu_ns=%" PRIu64,
			       cost->power_w, cost->cpu_w, cost->cpu_ns);
}

static void print_progress(char *s, size_t size, const struct cot_launches *l)
{
	size_t n = (size_t)snprintf(s, size, " launches=%" PRIu64 " span_ns=%" PRIu64, l->n,
				    l->span_ns);

	if (l->n_waits || l->waited_ns)
		(void)snprintf(s + n, size - n, " waits=%" PRIu64 " waited_ns=%" PRIu64, l->n_waits,
			       l->waited_ns);
}

static void print_measured(char *s, size_t size, const struct cot_event *ev)
{
	switch (ev->type) {
	case COT_EV_WINDOW:
		print_window(s, size, &ev->window);
		break;
	case COT_EV_PROGRESS:
		print_progress(s, size, &ev->launches);
		break;
	case COT_EV_PREDICTION:
		print_prediction(s, size, ev);
		break;
	case COT_EV_LESSON:
		print_lesson(s, size, &ev->lesson);
		break;
	case COT_EV_QUERY:
		print_query(s, size, &ev->query);
		break;
	case COT_EV_QUERY_TASKS:
		(void)snprintf(s, size, " done=%" PRIu32 " at_ns=%" PRIu64, ev->tasks.n_done,
			       ev->tasks.at_ns);
		break;
	default:
		*s = '\0';
		break;
	}
}

static void print_details(char *s, size_t size, const struct cot_event *ev)
{
	const struct cot_pool_desc *p = &ev->pool;
	char pace[PACE_TEXT_MAX], units[PACE_TEXT_MAX];

	switch (ev->type) {
	case COT_EV_TENANT:
		print_tenant(s, size, &ev->tenant);
		break;
	case COT_EV_POOL:
		(void)snprintf(s, size, " class=%s gpus=0x%" PRIx64 " ready=%d",
			       NAME(cot_class_words, p->cls), p->gpu_mask, p->ready);
		break;
	case COT_EV_ACTIVITY:
		(void)snprintf(s, size, " is=%s", NAME(cot_event_log_activities, ev->activity));
		break;
	case COT_EV_DONE:
		(void)snprintf(s, size, " seq=%" PRIu32 " status=%d", ev->done.seq,
			       ev->done.status);
		break;
	case COT_EV_FOUND:
		(void)snprintf(s, size, " frozen=%d", ev->is_frozen);
		break;
	case COT_EV_HOLD:
		(void)snprintf(s, size, " on=%d", ev->hold);
		break;
	case COT_EV_WORK:
		print_work(s, size, &ev->work);
		break;
	case COT_EV_WORK_EVICTED:
		(void)snprintf(s, size, " capsms=%" PRIu32, ev->capsms);
		break;
	case COT_EV_WORK_DONE:
		(void)snprintf(s, size, " left=%" PRIu32, ev->left);
		break;
	case COT_EV_PARTS:
		(void)snprintf(s, size, " sms=%" PRIu32 " unit=%" PRIu32 "%s%s" PART,
			       ev->parts.n_sms, ev->parts.unit,
			       units_text(ev->parts.n_units, units),
			       ev->parts.can_cpu ? "/cpu" : "", ev->parts.part.first,
			       ev->parts.part.n, behind(ev->parts.part, pace));
		break;
	case COT_EV_PLACED:
		(void)snprintf(s, size, " seq=%" PRIu32 " status=%d" PART, ev->placed.seq,
			       ev->placed.status, ev->placed.part.first, ev->placed.part.n,
			       behind(ev->placed.part, pace));
		break;
	default:
		print_measured(s, size, ev);
		break;
	}
}

void cot_event_log_print_event(char *line, size_t size, const struct cot_event *ev)
{
	char details[COT_EVENT_LOG_LINE_MAX];

	print_details(details, sizeof(details), ev);
	(void)snprintf(line, size, "%" PRIu64 " %s %" PRIu32 "%s", ev->now_ns,
		       NAME(cot_event_log_events, ev->type), ev->id, details);
}

void cot_event_log_print_action(char *line, size_t size, const struct cot_action *a)
{
	char value[48] = "", pace[PACE_TEXT_MAX];

	if (a->kind == COT_ACTION_SLICE)
		(void)snprintf(value, sizeof(value), " us=%" PRIu32, a->value);
	else if (a->kind == COT_ACTION_MODE)
		(void)snprintf(value, sizeof(value), " mode=%s", NAME(cot_mode_words, a->value));
	else if (a->kind == COT_ACTION_GRANT)
		(void)snprintf(value, sizeof(value), " capsms=%" PRIu32 " settled=%d", a->value,
			       a->settled);
	else if (a->kind == COT_ACTION_EVICT)
		(void)snprintf(value, sizeof(value), " capsms=%" PRIu32, a->value);
	else if (a->kind == COT_ACTION_PLACE)
		(void)snprintf(value, sizeof(value), PART "%s", a->part.first, a->part.n,
			       behind(a->part, pace), a->leave ? "/leave" : "");
	(void)snprintf(line, size, "%" PRIu64 " > %s %" PRIu32 " seq=%" PRIu32 "%s", a->now_ns,
		       NAME(cot_event_log_actions, a->kind), a->entity, a->seq, value);
}
