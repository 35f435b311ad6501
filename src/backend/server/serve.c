/* Waits for programs, and for launches in their pages: awake for a moment after the last one. */
#include <sched.h>
#include <sys/epoll.h>

#include "backend/server/server.h"

/* So long after a launch the backend looks at the pages without sleeping. */
#define AWAKE_NS   300000ull
#define LOOK_NS	   1000000ull /* between two questions whether the GPU has failed */
#define SLEEP_MS   100
#define EVENTS	   16
#define FIRST_POLL 64u /* looks at the pages between two at the sockets */

static bool take(struct backend *b, uint32_t client, uint32_t slot, uint64_t now_ns)
{
	struct backend_client *c = &b->clients[client];
	struct cot_gather_entry e = {.client = client, .slot = slot};

	if (!cot_backend_take(&c->page->slots[slot], &e.launch, &e.word))
		return false;
	e.code = c->kernels[e.launch.kernel];
	if (!e.code || c->kernels[e.launch.kernel]->params_bytes != e.launch.params_bytes ||
	    !cot_gather_add(&b->gather, &e, now_ns)) {
		cot_backend_give_back(&c->page->slots[slot], e.word,
				      e.code ? COT_BACKEND_WHY_ALONE : COT_BACKEND_WHY_KERNEL);
		b->n_back++;
	}
	return true;
}

static bool look_at_pages(struct backend *b, uint64_t now_ns)
{
	bool any = false;
	uint32_t i, k;

	for (i = 0; i < COT_BACKEND_CLIENTS; i++)
		for (k = 0; b->clients[i].welcome && k < COT_BACKEND_SLOTS; k++)
			any |= take(b, i, k, now_ns);
	return any;
}

static void for_all(struct backend *b, bool asleep)
{
	uint32_t i;

	for (i = 0; i < COT_BACKEND_CLIENTS; i++) {
		if (!b->clients[i].page)
			continue;
		atomic_store(&b->clients[i].page->asleep, asleep);
		atomic_fetch_add(&b->clients[i].page->beat, 1);
	}
}

static void handle_events(struct backend *b, int timeout_ms)
{
	struct epoll_event events[EVENTS];
	int i, n = epoll_wait(b->epoll, events, EVENTS, timeout_ms);

	for (i = 0; i < n; i++) {
		struct backend_client *c = events[i].data.ptr;

		if (events[i].data.ptr == &b->listener)
			cot_backend_client_accept(b);
		else if (events[i].data.ptr != b && c->fd >= 0) /* b: somebody has rung */
			cot_backend_client_read(b, c);
	}
}

/* Until a launch comes, or a packet, or some time has passed. */
static void sleep_some(struct backend *b, uint64_t now_ns)
{
	for_all(b, true);
	/* One that was posted before its program could see that we sleep. */
	if (!look_at_pages(b, now_ns))
		handle_events(b, cot_backend_is_idle(b) ? SLEEP_MS : 1);
	for_all(b, false);
}

static bool is_over(struct backend *b, uint64_t now_ns, uint64_t *empty_ns)
{
	if (cot_backend_clients_count(b) || !cot_backend_is_idle(b))
		*empty_ns = now_ns;
	return now_ns - *empty_ns >= b->idle_ns;
}

int cot_backend_serve(struct backend *b)
{
	uint64_t now_ns = backend_now_ns(), last_ns = now_ns, asked_ns = now_ns, empty_ns = now_ns;
	uint32_t turns = 0;
	CUresult fault = CUDA_SUCCESS;
	bool good = true;

	while (good && !fault && !is_over(b, now_ns, &empty_ns)) {
		now_ns = backend_now_ns();
		if (look_at_pages(b, now_ns))
			last_ns = now_ns;
		while (good && cot_gather_due(&b->gather, b->window_ns, now_ns) <= now_ns)
			good = cot_backend_decide(b);
		if (now_ns - asked_ns > LOOK_NS) {
			asked_ns = now_ns;
			fault = cot_backend_is_idle(b) ? CUDA_SUCCESS : cot_backend_failed(b);
			cot_backend_clients_clear(b);
			cot_backend_clients_wait(b, now_ns);
		}
		if (!b->gather.n && now_ns - last_ns > AWAKE_NS)
			sleep_some(b, now_ns);
		else if (++turns % FIRST_POLL == 0)
			handle_events(b, 0), for_all(b, false);
		else
			(void)sched_yield();
	}
	if (!good && !fault)
		fault = cot_backend_failed(b);
	if (fault)
		cot_backend_tell_fault(b, fault);
	backend_say("%llu launches were merged into %llu, %llu went back",
		    (unsigned long long)b->n_merged, (unsigned long long)b->n_merges,
		    (unsigned long long)b->n_back);
	return fault || !good ? 3 : 0;
}
