#include "sim/warp_model.h"

#include <stdlib.h>

#include "base/rng.h"

#define WHEEL  65536u /* cycles; no latency is longer */
#define NOBODY UINT32_MAX

struct warp {
	uint32_t lane, in_flight, in_batch;
	uint64_t ready; /* cycle in which it may issue */
	bool batch_full;
};

struct list {
	uint32_t head, tail, n;
};

struct channel {
	struct list queue[WARPS_MAX_LANES];
	double credit, deficit[WARPS_MAX_LANES + 1];
	uint32_t turn;
	double transfer_due;
};

struct world {
	const struct warps_gpu *gpu;
	struct cot_rng rng;
	struct warp *warps;
	uint32_t n_warps;
	struct list ready[WARPS_MAX_LANES];    /* per SM: may issue, in order */
	struct list *sleeping;		       /* wheel: may issue in that cycle */
	struct list *back;		       /* wheel of requests that come back in that cycle */
	uint32_t *request_warp, *request_next; /* pool of requests */
	uint32_t n_requests, free_request;
	struct list port[WARPS_MAX_LANES];
	double port_credit[WARPS_MAX_LANES];
	uint32_t port_turn[WARPS_MAX_LANES];
	struct channel channels[WARPS_CHANNELS];
	uint64_t transfer_served, insts[WARPS_MAX_LANES];
};

static void push(struct list *l, uint32_t *next_of, uint32_t item)
{
	next_of[item] = NOBODY;
	if (l->n)
		next_of[l->tail] = item;
	else
		l->head = item;
	l->tail = item;
	l->n++;
}

static uint32_t pop(struct list *l, const uint32_t *next_of)
{
	uint32_t item = l->head;

	l->head = next_of[item];
	l->n--;
	return item;
}

/* Warps are linked through a table of their own, so that push() and pop() serve both. */
static uint32_t *warp_next(struct world *w)
{
	return w->request_next + w->n_requests;
}

static bool chance(struct world *w, double p)
{
	return (double)(cot_rng_next(&w->rng) >> 11) / 9007199254740992.0 < p;
}

static void sleep_until(struct world *w, uint32_t warp, uint64_t cycle)
{
	push(&w->sleeping[cycle % WHEEL], warp_next(w), warp);
}

static void send(struct world *w, uint32_t warp)
{
	uint32_t r = w->free_request;

	w->free_request = w->request_next[r];
	w->request_warp[r] = warp;
	push(&w->port[w->warps[warp].lane], w->request_next, r);
}

static void issue(struct world *w, uint32_t sm, uint64_t cycle)
{
	uint32_t slot;

	for (slot = 0; slot < w->gpu->issue_width && w->ready[sm].n; slot++) {
		uint32_t id = pop(&w->ready[sm], warp_next(w));
		struct warp *p = &w->warps[id];
		const struct cot_kernel_work *k = &w->gpu->lanes[p->lane].work;

		w->insts[p->lane]++;
		p->ready = cycle + (uint64_t)k->cpi;
		if (chance(w, k->mem_fraction)) {
			p->in_flight++;
			p->batch_full = ++p->in_batch >= (uint32_t)k->mlp;
			send(w, id);
		}
		if (!p->batch_full)
			sleep_until(w, id, p->ready);
	}
}

static void come_back(struct world *w, uint32_t r, uint64_t cycle)
{
	uint32_t id = w->request_warp[r];
	struct warp *p = &w->warps[id];

	w->request_next[r] = w->free_request;
	w->free_request = r;
	p->in_flight--;
	if (!p->batch_full || p->in_flight)
		return;
	p->batch_full = false;
	p->in_batch = 0;
	sleep_until(w, id, p->ready > cycle ? p->ready : cycle + 1);
}

static double bytes_of(const struct world *w, uint32_t lane)
{
	return w->gpu->lanes[lane].work.dram_bytes;
}

/* The next lane of the SM, in turn, with a request at the port. */
static uint32_t port_next(struct world *w, uint32_t sm)
{
	uint32_t n = w->gpu->n_lanes, i;

	for (i = 1; i <= n; i++) {
		uint32_t lane = (w->port_turn[sm] + i) % n;

		if (w->gpu->lanes[lane].sm == sm && w->port[lane].n)
			return lane;
	}
	return NOBODY;
}

static void run_port(struct world *w, uint32_t sm)
{
	uint32_t lane;

	w->port_credit[sm] += w->gpu->sm_bytes_per_cycle;
	while ((lane = port_next(w, sm)) != NOBODY && w->port_credit[sm] >= bytes_of(w, lane)) {
		w->port_credit[sm] -= bytes_of(w, lane);
		w->port_turn[sm] = lane;
		push(&w->channels[cot_rng_below(&w->rng, WARPS_CHANNELS)].queue[lane],
		     w->request_next, pop(&w->port[lane], w->request_next));
	}
	if (lane == NOBODY && w->port_credit[sm] > w->gpu->sm_bytes_per_cycle)
		w->port_credit[sm] = w->gpu->sm_bytes_per_cycle;
}

/*
 * Max-min fair in bytes, not in requests: every lane with a request has a deficit counter. The
 * transfer is one more lane with requests of 128 bytes.
 */
static void run_channel(struct world *w, struct channel *c, uint64_t cycle)
{
	const double quantum = 128.0, transfer = 128.0;
	double per_cycle = w->gpu->dram_bytes_per_cycle / WARPS_CHANNELS;
	uint32_t n = w->gpu->n_lanes + 1, empty = 0;

	c->credit += per_cycle;
	c->transfer_due += w->gpu->transfer_bytes_per_cycle / WARPS_CHANNELS;
	while (c->credit > 0.0 && empty < n) {
		uint32_t lane = c->turn;
		bool is_transfer = lane + 1 == n;
		bool any = is_transfer ? c->transfer_due >= transfer : c->queue[lane].n > 0;
		double size = is_transfer ? transfer : bytes_of(w, lane);

		if (!any || c->deficit[lane] < size) {
			if (!any)
				c->deficit[lane] = 0.0;
			empty = any ? 0 : empty + 1;
			c->turn = (lane + 1) % n;
			c->deficit[c->turn] += quantum;
			continue;
		}
		empty = 0;
		c->deficit[lane] -= size;
		c->credit -= size;
		if (is_transfer) {
			c->transfer_due -= transfer;
			w->transfer_served += (uint64_t)transfer;
		} else {
			uint64_t latency = (uint64_t)w->gpu->lanes[lane].work.latency;

			push(&w->back[(cycle + latency) % WHEEL], w->request_next,
			     pop(&c->queue[lane], w->request_next));
		}
	}
	if (c->credit > per_cycle)
		c->credit = per_cycle;
}

static void run_cycle(struct world *w, uint64_t cycle)
{
	struct list *l = &w->back[cycle % WHEEL];
	uint32_t sm, i;

	while (l->n)
		come_back(w, pop(l, w->request_next), cycle);
	l = &w->sleeping[cycle % WHEEL];
	while (l->n) {
		uint32_t id = pop(l, warp_next(w));

		push(&w->ready[w->gpu->lanes[w->warps[id].lane].sm], warp_next(w), id);
	}
	for (sm = 0; sm < w->gpu->n_sms; sm++) {
		issue(w, sm, cycle);
		run_port(w, sm);
	}
	for (i = 0; i < WARPS_CHANNELS; i++)
		run_channel(w, &w->channels[i], cycle);
}

static void make_warps(struct world *w)
{
	uint32_t lane, i, n = 0, most = 1;

	for (lane = 0; lane < w->gpu->n_lanes; lane++) {
		n += w->gpu->lanes[lane].n_warps;
		if (w->gpu->lanes[lane].work.mlp > most)
			most = (uint32_t)w->gpu->lanes[lane].work.mlp;
	}
	if (!n)
		abort(); /* a GPU without warps */
	w->n_warps = n;
	w->n_requests = n * most;
	w->warps = calloc(n, sizeof(*w->warps));
	w->request_warp = calloc(w->n_requests, sizeof(uint32_t));
	w->request_next = calloc((size_t)w->n_requests + n, sizeof(uint32_t));
	w->sleeping = calloc(WHEEL, sizeof(*w->sleeping));
	w->back = calloc(WHEEL, sizeof(*w->back));
	if (!w->warps || !w->request_warp || !w->request_next || !w->sleeping || !w->back)
		abort();
	for (i = 0; i < w->n_requests; i++)
		w->request_next[i] = i + 1;
	n = 0;
	for (lane = 0; lane < w->gpu->n_lanes; lane++)
		for (i = 0; i < w->gpu->lanes[lane].n_warps; i++) {
			w->warps[n].lane = lane;
			sleep_until(w, n++, cot_rng_below(&w->rng, 100));
		}
}

void warps_run(const struct warps_gpu *gpu, uint64_t cycles, uint64_t seed, double *ret_ipc,
	       double *ret_transfer)
{
	struct world *w = calloc(1, sizeof(*w));
	uint64_t cycle, warm = cycles / 4, before[WARPS_MAX_LANES] = {0}, served = 0;
	uint32_t i;

	if (!w)
		abort();
	w->gpu = gpu;
	w->rng.state = seed;
	make_warps(w);
	for (cycle = 0; cycle < cycles; cycle++) {
		if (cycle == warm) {
			for (i = 0; i < gpu->n_lanes; i++)
				before[i] = w->insts[i];
			served = w->transfer_served;
		}
		run_cycle(w, cycle);
	}
	for (i = 0; i < gpu->n_lanes; i++)
		ret_ipc[i] = (double)(w->insts[i] - before[i]) / (double)(cycles - warm);
	*ret_transfer = (double)(w->transfer_served - served) / (double)(cycles - warm);
	free(w->warps);
	free(w->request_warp);
	free(w->request_next);
	free(w->sleeping);
	free(w->back);
	free(w);
}
