#include "sched/event_log.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

static const char *const event_names[] = {
	[COT_EV_TICK] = "tick",
	[COT_EV_TENANT] = "tenant",
	[COT_EV_TENANT_LEFT] = "left",
	[COT_EV_POOL] = "pool",
	[COT_EV_POOL_LEFT] = "pool-left",
	[COT_EV_ACTIVITY] = "activity",
	[COT_EV_DONE] = "done",
	[COT_EV_STATE] = "state",
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
};
static const char *const action_names[] = {
	[COT_ACTION_SLICE] = "slice", [COT_ACTION_MODE] = "mode",   [COT_ACTION_FREEZE] = "freeze",
	[COT_ACTION_THAW] = "thaw",   [COT_ACTION_GRANT] = "grant", [COT_ACTION_EVICT] = "evict",
	[COT_ACTION_PLACE] = "place",
};
static const char *const activity_names[] = {"unknown", "idle", "active"};
static const char *const method_names[] = {"quota", "reserve"};
static const char *const horizon_names[] = {"1s", "10s", "60s"};
static const char *const source_names[] = {"marked", "bursts"};
/* Of the members of cot_times, in their order. */
#define N_TIMES 5u
static const char *const response_keys[N_TIMES] = {
	"responses=", "missed=", "p50_ns=", "p95_ns=", "p99_ns=",
};
static const char *const service_keys[N_TIMES] = {
	"services=", "service_missed=", "service_p50_ns=", "service_p95_ns=", "service_p99_ns=",
};

/* Of a lesson. */
#define N_VALUES (sizeof(((struct cot_lesson *)NULL)->value) / sizeof(uint32_t))

#define N(names) ((unsigned)(sizeof(names) / sizeof((names)[0])))

/* ---- printing ---- */

static const char *name_of(const char *const *names, unsigned n, unsigned i)
{
	return i < n ? names[i] : "?";
}

#define NAME(names, i) name_of(names, N(names), (unsigned)(i))

#define PART " part=%" PRIu32 "+%" PRIu32 "%s"

/* Behind a part, if it has a pace. */
#define PACE_TEXT_MAX 16

static const char *pace_text(uint32_t pace_us, char text[PACE_TEXT_MAX])
{
	*text = '\0';
	if (pace_us)
		(void)snprintf(text, PACE_TEXT_MAX, "@%" PRIu32, pace_us);
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
		       " want=%" PRIu32 " task_ns=%" PRIu32,
		       w->tenant, w->gpu, w->n_sms, NAME(method_names, w->method), w->can_settle,
		       w->can_grow, w->n_tasks, w->per_sm, w->asked, w->task_ns);
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

	print_times(response, sizeof(response), &w->response, response_keys);
	print_times(service, sizeof(service), &w->service, service_keys);
	(void)snprintf(s, size, " horizon=%s source=%s%s%s", NAME(horizon_names, w->horizon),
		       NAME(source_names, w->source), response, service);
}

static void print_lesson(char *s, size_t size, const struct cot_lesson *l)
{
	const uint32_t *v = l->value;

	(void)snprintf(s, size,
		       " key=0x%" PRIx64 " kind=%" PRIu32 " values=%" PRIu32 ",%" PRIu32 ",%" PRIu32
		       ",%" PRIu32 ",%" PRIu32 ",%" PRIu32,
		       l->key, l->kind, v[0], v[1], v[2], v[3], v[4], v[5]);
}

static void print_measured(char *s, size_t size, const struct cot_event *ev)
{
	switch (ev->type) {
	case COT_EV_WINDOW:
		print_window(s, size, &ev->window);
		break;
	case COT_EV_PROGRESS:
		(void)snprintf(s, size, " launches=%" PRIu64 " span_ns=%" PRIu64, ev->launches.n,
			       ev->launches.span_ns);
		break;
	case COT_EV_PREDICTION:
		(void)snprintf(s, size,
			       " row=%" PRIu32 " of=%" PRIu32 " sms=%" PRIu32
			       " duration_ns=%" PRIu64 " bytes_per_s=%" PRIu64,
			       ev->prediction.row, ev->prediction.n, ev->prediction.is.sms,
			       ev->prediction.is.duration_ns, ev->prediction.is.bytes_per_s);
		break;
	case COT_EV_LESSON:
		print_lesson(s, size, &ev->lesson);
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
		(void)snprintf(s, size, " is=%s", NAME(activity_names, ev->activity));
		break;
	case COT_EV_DONE:
		(void)snprintf(s, size, " seq=%" PRIu32 " status=%d", ev->done.seq,
			       ev->done.status);
		break;
	case COT_EV_STATE:
		(void)snprintf(s, size, " frozen=%d us=%" PRIu32 " mode=%s", ev->state.frozen,
			       ev->state.slice_us, NAME(cot_mode_words, ev->state.mode));
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
		(void)snprintf(s, size, " sms=%" PRIu32 " unit=%" PRIu32 "%s" PART, ev->parts.n_sms,
			       ev->parts.unit, units_text(ev->parts.n_units, units),
			       ev->parts.part.first, ev->parts.part.n,
			       pace_text(ev->parts.part.pace_us, pace));
		break;
	case COT_EV_PLACED:
		(void)snprintf(s, size, " seq=%" PRIu32 " status=%d" PART, ev->placed.seq,
			       ev->placed.status, ev->placed.part.first, ev->placed.part.n,
			       pace_text(ev->placed.part.pace_us, pace));
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
		       NAME(event_names, ev->type), ev->id, details);
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
		(void)snprintf(value, sizeof(value), PART, a->part.first, a->part.n,
			       pace_text(a->part.pace_us, pace));
	(void)snprintf(line, size, "%" PRIu64 " > %s %" PRIu32 " seq=%" PRIu32 "%s", a->now_ns,
		       NAME(action_names, a->kind), a->entity, a->seq, value);
}

/* ---- reading ---- */

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
	if (errno || v > max || (*end && !strchr(" +@*,", *end)))
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

static struct cot_part part_of(struct reader *r)
{
	struct cot_part part = {0};

	part.first = number_of(r, "part=");
	if (*r->at == '+')
		r->at++;
	else
		r->failed = true;
	part.n = read_u32(r);
	part.pace_us = pace_of(r);
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
	ev->parts.part = part_of(r);
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
	w->method = (enum cot_work_method)NAME_OF(r, "method=", method_names);
	w->can_settle = flag_of(r, "settle=");
	w->can_grow = flag_of(r, "grow=");
	w->n_tasks = number_of(r, "tasks=");
	w->per_sm = number_of(r, "per_sm=");
	w->asked = number_of(r, "want=");
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
	w->horizon = (enum cot_horizon)NAME_OF(r, "horizon=", horizon_names);
	w->source = (enum cot_request_source)NAME_OF(r, "source=", source_names);
	read_times(r, &w->response, response_keys);
	read_times(r, &w->service, service_keys);
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

static void read_measured(struct reader *r, struct cot_event *ev)
{
	switch (ev->type) {
	case COT_EV_WINDOW:
		read_window(r, &ev->window);
		break;
	case COT_EV_PROGRESS:
		ev->launches.n = u64_of(r, "launches=");
		ev->launches.span_ns = u64_of(r, "span_ns=");
		break;
	case COT_EV_PREDICTION:
		ev->prediction.row = number_of(r, "row=");
		ev->prediction.n = number_of(r, "of=");
		ev->prediction.is.sms = number_of(r, "sms=");
		ev->prediction.is.duration_ns = u64_of(r, "duration_ns=");
		ev->prediction.is.bytes_per_s = u64_of(r, "bytes_per_s=");
		break;
	case COT_EV_LESSON:
		read_lesson(r, &ev->lesson);
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
		ev->activity = (enum cot_activity)NAME_OF(r, "is=", activity_names);
		break;
	case COT_EV_DONE:
		ev->done.seq = number_of(r, "seq=");
		ev->done.status = status_of(r);
		break;
	case COT_EV_STATE:
		ev->state.frozen = flag_of(r, "frozen=");
		ev->state.slice_us = number_of(r, "us=");
		ev->state.mode = (enum cot_mode)mode_of(r);
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
		ev->placed.part = part_of(r);
		break;
	default:
		read_measured(r, ev);
		break;
	}
}

static void read_action(struct reader *r, struct cot_action *a)
{
	a->kind = (enum cot_action_kind)read_name(r, action_names, N(action_names));
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
		a->part = part_of(r);
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
		ev.type = (enum cot_event_type)read_name(&r, event_names, N(event_names));
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
