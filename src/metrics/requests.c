#include "metrics/requests.h"

#include <stdlib.h>
#include <string.h>

#include "base/buckets.h"
#include "base/compiler.h"

#define SUB_BITS   5u
#define UNIT_SHIFT 4u  /* times in units of 16 ns */
#define TIME_BITS  37u /* up to 137 s */
#define N_BUCKETS  COT_BUCKETS(TIME_BITS - UNIT_SHIFT, SUB_BITS)

#define SLOTS_PER_HORIZON 10u
#define N_SLOTS		  (SLOTS_PER_HORIZON + 1u)

/* So that sums of times and slots do not overflow. */
#define NOW_NS_MAX (COT_NEVER / 2)

static const uint64_t slot_ns[COT_N_HORIZONS] = {
	[COT_HORIZON_1S] = COT_NS_PER_S / SLOTS_PER_HORIZON,
	[COT_HORIZON_10S] = 10 * COT_NS_PER_S / SLOTS_PER_HORIZON,
	[COT_HORIZON_60S] = 60 * COT_NS_PER_S / SLOTS_PER_HORIZON,
};

struct counts {
	uint64_t n, n_missed;
	uint32_t by_time[N_BUCKETS];
};

/* One figure over one horizon. `all` is the sum of the slots. */
struct window {
	struct counts all, slots[N_SLOTS];
};

struct cot_requests {
	uint64_t now_ns, target_ns;
	uint64_t slot_end_ns;		   /* of the current slot of COT_HORIZON_1S */
	uint64_t slot[COT_N_HORIZONS];	   /* the current one, counted from time 0 */
	uint64_t taken_ns[COT_N_HORIZONS]; /* when the window was passed on last */
	uint64_t due_ns[COT_N_HORIZONS];   /* and when it is next */
	struct window response[COT_N_HORIZONS], service[COT_N_HORIZONS];
};

static void begin(struct cot_requests *r)
{
	enum cot_horizon h;

	r->target_ns = COT_NEVER;
	for (h = 0; h < COT_N_HORIZONS; h++)
		r->due_ns[h] = COT_NEVER;
}

struct cot_requests *cot_requests_create(void)
{
	struct cot_requests *r = calloc(1, sizeof(*r)); /* what is not used is not touched */

	if (r)
		begin(r);
	return r;
}

void cot_requests_destroy(struct cot_requests *r)
{
	free(r);
}

void cot_requests_set_target(struct cot_requests *r, uint64_t target_ns)
{
	r->target_ns = target_ns;
}

void cot_requests_clear(struct cot_requests *r)
{
	memset(r->response, 0, sizeof(r->response));
	memset(r->service, 0, sizeof(r->service));
}

/* ---- time ---- */

static void empty_slot(struct window *w, unsigned at)
{
	struct counts *slot = &w->slots[at];
	unsigned i;

	if (!slot->n)
		return;
	for (i = 0; i < N_BUCKETS; i++)
		w->all.by_time[i] -= slot->by_time[i];
	w->all.n -= slot->n;
	w->all.n_missed -= slot->n_missed;
	memset(slot, 0, sizeof(*slot));
}

/* The slots that begin take the places of the oldest ones. */
static void move_window(struct cot_requests *r, enum cot_horizon h)
{
	uint64_t newest = r->now_ns / slot_ns[h], n = newest - r->slot[h];

	if (n > N_SLOTS)
		n = N_SLOTS;
	r->slot[h] = newest;
	for (; n; n--) {
		unsigned at = (unsigned)((newest - n + 1) % N_SLOTS);

		empty_slot(&r->response[h], at);
		empty_slot(&r->service[h], at);
	}
}

/* Every slot ends together with one of the shortest. */
static void go_on(struct cot_requests *r, uint64_t now_ns)
{
	enum cot_horizon h;

	if (now_ns > NOW_NS_MAX)
		now_ns = NOW_NS_MAX;
	if (now_ns > r->now_ns)
		r->now_ns = now_ns;
	if (r->now_ns < r->slot_end_ns)
		return;
	for (h = 0; h < COT_N_HORIZONS; h++)
		move_window(r, h);
	r->slot_end_ns = (r->slot[COT_HORIZON_1S] + 1) * slot_ns[COT_HORIZON_1S];
}

/* The next end of a slot, but not within half a slot from the last time. */
static void set_due(struct cot_requests *r, enum cot_horizon h)
{
	uint64_t after_ns = r->taken_ns[h] + slot_ns[h] / 2;

	if (after_ns < r->now_ns)
		after_ns = r->now_ns;
	r->due_ns[h] = (after_ns / slot_ns[h] + 1) * slot_ns[h];
}

/* ---- in ---- */

static unsigned bucket_of(uint64_t time_ns)
{
	if (time_ns >> TIME_BITS)
		return N_BUCKETS - 1;
	return cot_bucket_of(time_ns >> UNIT_SHIFT, SUB_BITS);
}

static void count(struct counts *c, unsigned bucket, bool missed)
{
	c->n++;
	c->n_missed += missed;
	c->by_time[bucket]++;
}

static void add(const struct cot_requests *r, struct window *windows, uint64_t time_ns)
{
	unsigned bucket = bucket_of(time_ns);
	bool missed = time_ns > r->target_ns;
	enum cot_horizon h;

	for (h = 0; h < COT_N_HORIZONS; h++) {
		count(&windows[h].all, bucket, missed);
		count(&windows[h].slots[r->slot[h] % N_SLOTS], bucket, missed);
	}
}

void cot_requests_add(struct cot_requests *r, uint64_t now_ns, uint64_t response_ns,
		      uint64_t service_ns)
{
	enum cot_horizon h;

	go_on(r, now_ns);
	if (response_ns != COT_NEVER)
		add(r, r->response, response_ns);
	add(r, r->service, service_ns);
	for (h = 0; h < COT_N_HORIZONS; h++)
		if (r->due_ns[h] == COT_NEVER)
			set_due(r, h);
}

/* ---- out ---- */

static uint64_t middle_ns(unsigned bucket)
{
	uint64_t lowest = cot_bucket_lowest(bucket, SUB_BITS);
	uint64_t next = cot_bucket_lowest(bucket + 1, SUB_BITS);

	return ((lowest + next) << UNIT_SHIFT) / 2;
}

/* Nearest rank: the ceil(q * n)-th smallest. */
static void fill(const struct counts *c, struct cot_times *ret_times)
{
	const struct {
		unsigned percent;
		uint64_t *ret_ns;
	} wanted[] = {
		{50, &ret_times->p50_ns},
		{95, &ret_times->p95_ns},
		{99, &ret_times->p99_ns},
	};
	unsigned bucket = 0, i;
	uint64_t seen;

	*ret_times = (struct cot_times){.n = c->n, .n_missed = c->n_missed};
	if (!c->n)
		return;
	seen = c->by_time[0];
	for (i = 0; i < COT_ARRAY_LEN(wanted); i++) {
		uint64_t rank = (c->n * wanted[i].percent + 99) / 100;

		while (seen < rank && bucket < N_BUCKETS - 1)
			seen += c->by_time[++bucket];
		*wanted[i].ret_ns = middle_ns(bucket);
	}
}

void cot_requests_read(struct cot_requests *r, uint64_t now_ns, enum cot_horizon horizon,
		       struct cot_requests_window *ret_window)
{
	go_on(r, now_ns);
	ret_window->horizon = horizon;
	fill(&r->response[horizon].all, &ret_window->response);
	fill(&r->service[horizon].all, &ret_window->service);
}

bool cot_requests_take(struct cot_requests *r, uint64_t now_ns,
		       struct cot_requests_window *ret_window)
{
	enum cot_horizon h;

	go_on(r, now_ns);
	for (h = 0; h < COT_N_HORIZONS; h++) {
		if (r->due_ns[h] > r->now_ns)
			continue;
		cot_requests_read(r, r->now_ns, h, ret_window);
		r->taken_ns[h] = r->now_ns;
		r->due_ns[h] = COT_NEVER;
		if (ret_window->service.n)
			set_due(r, h);
		return true;
	}
	return false;
}

uint64_t cot_requests_due_ns(const struct cot_requests *r)
{
	uint64_t due_ns = COT_NEVER;
	enum cot_horizon h;

	for (h = 0; h < COT_N_HORIZONS; h++)
		if (r->due_ns[h] < due_ns)
			due_ns = r->due_ns[h];
	return due_ns;
}
