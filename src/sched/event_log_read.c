/* Reads what event_log.c prints. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "sched/event_log_inside.h"

struct reader {
	const char *at;
	bool failed;
};

static void skip_blanks(struct reader *r)
{
	while (*r->at == ' ')
		r->at++;
}

/* Takes `word` if it is next, up to a blank or the end, or up to its own '='. */
static bool take(struct reader *r, const char *word)
{
	size_t n = strlen(word);

	skip_blanks(r);
	if (strncmp(r->at, word, n) || (word[n - 1] != '=' && r->at[n] != ' ' && r->at[n] != '\0'))
		return false;
	r->at += n;
	return true;
}

static void expect(struct reader *r, const char *word)
{
	if (!r->failed && !take(r, word))
		r->failed = true;
}

static uint64_t read_number(struct reader *r, uint64_t max)
{
	unsigned long long v;
	char *end;

	skip_blanks(r);
	if (r->failed || !isdigit((unsigned char)*r->at)) {
		r->failed = true;
		return 0;
	}
	errno = 0;
	v = strtoull(r->at, &end, 0);
	if (errno || v > max || (*end && !strchr(" +@*,/", *end)))
		r->failed = true;
	r->at = end;
	return r->failed ? 0 : v;
}

static uint32_t read_u32(struct reader *r)
{
	return (uint32_t)read_number(r, UINT32_MAX);
}

static unsigned read_name(struct reader *r, const char *const *names, unsigned n)
{
	unsigned i;

	for (i = 0; !r->failed && i < n; i++)
		if (take(r, names[i]))
			return i;
	r->failed = true;
	return 0;
}

static uint32_t number_of(struct reader *r, const char *key)
{
	expect(r, key);
	return read_u32(r);
}

static bool flag_of(struct reader *r, const char *key)
{
	expect(r, key);
	return read_number(r, 1) != 0;
}

static uint64_t u64_of(struct reader *r, const char *key)
{
	expect(r, key);
	return read_number(r, UINT64_MAX);
}

#define NAME_OF(r, key, names) (expect(r, key), read_name(r, names, N(names)))

static int status_of(struct reader *r)
{
	bool minus;

	expect(r, "status=");
	minus = *r->at == '-';
	if (minus)
		r->at++;
	return minus ? -(int)read_number(r, 4095) : (int)read_number(r, 0);
}

static struct cot_share share_of(struct reader *r, const char *key)
{
	char word[COT_SHARE_WORD_MAX] = "";
	struct cot_share share = {0};
	size_t n;

	expect(r, key);
	n = strcspn(r->at, " @");
	if (n < sizeof(word))
		memcpy(word, r->at, n);
	if (strcmp(word, "0") != 0 && !cot_share_read(word, &share))
		r->failed = true;
	r->at += n;
	return share;
}

/* A policy chooses one: the driver's is not among them. */
static unsigned mode_of(struct reader *r)
{
	unsigned mode = NAME_OF(r, "mode=", cot_mode_words);

	r->failed |= mode == COT_MODE_DRIVER;
	return mode;
}

/* Behind a part or a share: "@500". */
static uint32_t pace_of(struct reader *r)
{
	if (*r->at != '@')
		return 0;
	r->at++;
	return read_u32(r);
}

static bool take_mark(struct reader *r, const char *mark)
{
	size_t n = strlen(mark);

	if (strncmp(r->at, mark, n) != 0)
		return false;
	r->at += n;
	return true;
}

/* What stands behind a part. Of an action also whether others wait for the SMs that are left. */
static void read_marks(struct reader *r, struct cot_part *part, bool *leave)
{
	part->hold = take_mark(r, "/hold");
	part->cpu = take_mark(r, "/cpu");
	if (leave)
		*leave = take_mark(r, "/leave");
	r->failed |= *r->at && *r->at != ' ';
}

static struct cot_part part_of(struct reader *r, bool *leave)
{
	struct cot_part part = {0};

	part.first = number_of(r, "part=");
	if (*r->at == '+')
		r->at++;
	else
		r->failed = true;
	part.n = read_u32(r);
	part.pace_us = pace_of(r);
	read_marks(r, &part, leave);
	return part;
}

/* Older logs do not say how many units there are. */
static void read_parts(struct reader *r, struct cot_event *ev)
{
	ev->parts.n_sms = number_of(r, "sms=");
	ev->parts.unit = number_of(r, "unit=");
	if (*r->at == '*') {
		r->at++;
		ev->parts.n_units = read_u32(r);
		r->failed |= !ev->parts.n_units;
	}
	ev->parts.can_cpu = take_mark(r, "/cpu");
	ev->parts.part = part_of(r, NULL);
}

static void read_tenant(struct reader *r, struct cot_tenant_desc *t)
{
	t->cls = (enum cot_class)NAME_OF(r, "class=", cot_class_words);
	t->weight = number_of(r, "weight=");
	t->gpu_mask = u64_of(r, "gpus=");
	t->pool = number_of(r, "pool=");
	t->ready = flag_of(r, "ready=");
	t->block_us = number_of(r, "block_us=");
	t->target.kind = (enum cot_target_kind)NAME_OF(r, "target=", cot_target_words);
	t->target.amount = number_of(r, "amount=");
	t->quota = share_of(r, "quota=");
	t->reserve = share_of(r, "reserve=");
	t->sms = share_of(r, "sms=");
	t->pace_us = pace_of(r);
	t->key = u64_of(r, "key=");
}

static void read_work(struct reader *r, struct cot_work_desc *w)
{
	w->tenant = number_of(r, "tenant=");
	w->gpu = number_of(r, "gpu=");
	w->n_sms = number_of(r, "sms=");
	w->method = (enum cot_work_method)NAME_OF(r, "method=", cot_event_log_methods);
	w->can_settle = flag_of(r, "settle=");
	w->can_grow = flag_of(r, "grow=");
	w->n_tasks = number_of(r, "tasks=");
	w->per_sm = number_of(r, "per_sm=");
	w->asked = number_of(r, "want=");
	w->reserve = number_of(r, "reserve=");
	w->task_ns = number_of(r, "task_ns=");
}

static void read_times(struct reader *r, struct cot_times *t, const char *const keys[N_TIMES])
{
	t->n = u64_of(r, keys[0]);
	t->n_missed = u64_of(r, keys[1]);
	t->p50_ns = u64_of(r, keys[2]);
	t->p95_ns = u64_of(r, keys[3]);
	t->p99_ns = u64_of(r, keys[4]);
}

static void read_window(struct reader *r, struct cot_window *w)
{
	w->horizon = (enum cot_horizon)NAME_OF(r, "horizon=", cot_event_log_horizons);
	w->source = (enum cot_request_source)NAME_OF(r, "source=", cot_event_log_sources);
	read_times(r, &w->response, cot_event_log_responses);
	read_times(r, &w->service, cot_event_log_services);
}

static void read_lesson(struct reader *r, struct cot_lesson *l)
{
	unsigned i;

	l->key = u64_of(r, "key=");
	l->kind = number_of(r, "kind=");
	expect(r, "values=");
	for (i = 0; i < N_VALUES; i++) {
		if (i && *r->at != ',')
			r->failed = true;
		else if (i)
			r->at++;
		l->value[i] = read_u32(r);
	}
}

static void read_query(struct reader *r, struct cot_query_desc *q)
{
	q->tenant = number_of(r, "tenant=");
	q->size = u64_of(r, "size=");
	q->arrived_ns = u64_of(r, "arrived_ns=");
	q->began_ns = u64_of(r, "began_ns=");
	q->in_ns = u64_of(r, "in_ns=");
	q->out_ns = u64_of(r, "out_ns=");
	q->plan_key = u64_of(r, "plan=");
}

static void read_prediction(struct reader *r, struct cot_event *ev)
{
	ev->prediction.row = number_of(r, "row=");
	ev->prediction.n = number_of(r, "of=");
	ev->prediction.is.sms = number_of(r, "sms=");
	ev->prediction.is.duration_ns = u64_of(r, "duration_ns=");
	ev->prediction.is.bytes_per_s = u64_of(r, "bytes_per_s=");
	ev->prediction.is.ipc_milli = number_of(r, "ipc_milli=");
	if (take(r, "kernel_ns="))
		ev->prediction.is.kernel_ns = read_number(r, UINT64_MAX);
	if (!take(r, "power_w="))
		return;
	ev->prediction.cost.power_w = read_u32(r);
	ev->prediction.cost.cpu_w = number_of(r, "cpu_w=");
	ev->prediction.cost.cpu_ns = u64_of(r, "cpu_ns=");
}

static void read_measured(struct reader *r, struct cot_event *ev)
{
	switch (ev->type) {
	case COT_EV_WINDOW:
		read_window(r, &ev->window);
		break;
	case COT_EV_PROGRESS:
		ev->launches.n = u64_of(r, "launches=");
		ev->launches.span_ns = u64_of(r, "span_ns=");
		if (!take(r, "waits="))
			break;
		ev->launches.n_waits = read_number(r, UINT64_MAX);
		ev->launches.waited_ns = u64_of(r, "waited_ns=");
		break;
	case COT_EV_PREDICTION:
		read_prediction(r, ev);
		break;
	case COT_EV_LESSON:
		read_lesson(r, &ev->lesson);
		break;
	case COT_EV_QUERY:
		read_query(r, &ev->query);
		break;
	case COT_EV_QUERY_TASKS:
		ev->tasks.n_done = number_of(r, "done=");
		ev->tasks.at_ns = u64_of(r, "at_ns=");
		break;
	default:
		break;
	}
}

static void read_details(struct reader *r, struct cot_event *ev)
{
	switch (ev->type) {
	case COT_EV_TENANT:
		read_tenant(r, &ev->tenant);
		break;
	case COT_EV_POOL:
		ev->pool.cls = (enum cot_class)NAME_OF(r, "class=", cot_class_words);
		ev->pool.gpu_mask = u64_of(r, "gpus=");
		ev->pool.ready = flag_of(r, "ready=");
		break;
	case COT_EV_ACTIVITY:
		ev->activity = (enum cot_activity)NAME_OF(r, "is=", cot_event_log_activities);
		break;
	case COT_EV_DONE:
		ev->done.seq = number_of(r, "seq=");
		ev->done.status = status_of(r);
		break;
	case COT_EV_FOUND:
		ev->is_frozen = flag_of(r, "frozen=");
		break;
	case COT_EV_HOLD:
		ev->hold = flag_of(r, "on=");
		break;
	case COT_EV_WORK:
		read_work(r, &ev->work);
		break;
	case COT_EV_WORK_EVICTED:
		ev->capsms = number_of(r, "capsms=");
		break;
	case COT_EV_WORK_DONE:
		ev->left = number_of(r, "left=");
		break;
	case COT_EV_PARTS:
		read_parts(r, ev);
		break;
	case COT_EV_PLACED:
		ev->placed.seq = number_of(r, "seq=");
		ev->placed.status = status_of(r);
		ev->placed.part = part_of(r, NULL);
		break;
	default:
		read_measured(r, ev);
		break;
	}
}

static void read_action(struct reader *r, struct cot_action *a)
{
	a->kind =
		(enum cot_action_kind)read_name(r, cot_event_log_actions, N(cot_event_log_actions));
	a->entity = read_u32(r);
	a->seq = number_of(r, "seq=");
	if (a->kind == COT_ACTION_SLICE)
		a->value = number_of(r, "us=");
	else if (a->kind == COT_ACTION_MODE)
		a->value = mode_of(r);
	else if (a->kind == COT_ACTION_GRANT || a->kind == COT_ACTION_EVICT)
		a->value = number_of(r, "capsms=");
	if (a->kind == COT_ACTION_GRANT)
		a->settled = flag_of(r, "settled=");
	if (a->kind == COT_ACTION_PLACE)
		a->part = part_of(r, &a->leave);
}

int cot_event_log_parse(const char *line, enum cot_event_log_kind *ret_kind,
			struct cot_event *ret_ev, struct cot_action *ret_action,
			struct cot_error *err)
{
	struct reader r = {.at = line};
	struct cot_event ev;
	struct cot_action a;
	uint64_t now_ns;
	bool is_action;

	/* Padding too, so that they can be compared as bytes. */
	memset(&ev, 0, sizeof(ev));
	memset(&a, 0, sizeof(a));
	skip_blanks(&r);
	if (*r.at == '#' || *r.at == '\0') {
		*ret_kind = COT_EVENT_LOG_NOTHING;
		return 0;
	}
	now_ns = read_number(&r, UINT64_MAX);
	is_action = take(&r, ">");
	if (is_action) {
		a.now_ns = now_ns;
		read_action(&r, &a);
	} else {
		ev.now_ns = now_ns;
		ev.type = (enum cot_event_type)read_name(&r, cot_event_log_events,
							 N(cot_event_log_events));
		ev.id = read_u32(&r);
		read_details(&r, &ev);
	}
	skip_blanks(&r);
	if (r.failed || *r.at)
		return cot_error_set(err, -EINVAL,
				     "column %d: expected a line of an event log here",
				     (int)(r.at - line) + 1);
	*ret_kind = is_action ? COT_EVENT_LOG_ACTION : COT_EVENT_LOG_EVENT;
	if (is_action)
		*ret_action = a;
	else
		*ret_ev = ev;
	return 0;
}
