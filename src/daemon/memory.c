#include "daemon/memory.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/roster.h"

/* What the GPU has: as the configuration says, else as a shim says that it has heard from its
 * driver, one of this user's or of root's, else as NVML says; 0: that is not known. */
static uint64_t there_are(const struct conns *conns, unsigned gpu, uid_t uid)
{
	uint64_t mib = conns->basis->config.gpu_memory_mib;
	const struct conn *c;

	for_each_conn (c, conns)
		if (!mib && c->kind == CONN_WORK && c->gpu == gpu && (!c->uid || c->uid == uid))
			mib = c->memory.gpu_bytes >> 20;
	return mib ? mib : conns->roster->energy.memory_bytes[gpu] >> 20;
}

static uint64_t promised(const struct conns *conns, unsigned gpu)
{
	const struct tenant *t;
	uint64_t sum = 0;

	for_each_tenant (t, conns->roster)
		if (t->gpu_mask & (1ull << gpu))
			sum += t->memory_mib;
	return sum;
}

int cot_memory_may_promise(const struct conn *c, const struct cot_msg_register *m,
			   struct cot_error *err)
{
	uint64_t mask = cot_gpus_mask(&c->basis->gpus, m->gpu), has, gone;
	unsigned gpu;

	if (!m->memory_mib || (m->flags & COT_REGISTER_OVERSUBSCRIBE) ||
	    c->basis->config.memory_oversubscribe)
		return 0;
	for (gpu = 0; gpu < c->basis->gpus.n; gpu++) {
		has = there_are(c->in, gpu, c->uid);
		gone = promised(c->in, gpu);
		if (!(mask & (1ull << gpu)) || !has || gone + m->memory_mib <= has)
			continue;
		return cot_error_set(
			err, -ENOSPC,
			"%u MiB of memory cannot be promised: GPU %u has %lu MiB, and %lu MiB are "
			"promised to programs; expected less, or --memory-oversubscribe",
			m->memory_mib, gpu, (unsigned long)has, (unsigned long)gone);
	}
	return 0;
}

static bool is_oversubscribed(const struct conns *conns, const struct tenant *t, bool *ret_known)
{
	bool over = false;
	unsigned gpu;

	*ret_known = true;
	for (gpu = 0; gpu < conns->basis->gpus.n; gpu++) {
		uint64_t has = there_are(conns, gpu, t->uid);

		if (!(t->gpu_mask & (1ull << gpu)))
			continue;
		*ret_known &= has != 0;
		over |= has && promised(conns, gpu) > has;
	}
	return over;
}

const char *cot_memory_note(const struct conns *conns, const struct tenant *t)
{
	bool known;

	if (!t->memory_mib)
		return NULL;
	if (is_oversubscribed(conns, t, &known))
		return "more memory is promised to programs than the GPU has: an allocation within "
		       "--memory may fail";
	return known ? NULL
		     : "how much memory the GPU has is not known yet, so it was not looked whether "
		       "that can be promised; 'memory: {gpu_mib: N}' in the daemon's configuration "
		       "says it";
}

/* Of each GPU the most that one has, and what its processes have there now. */
static uint64_t in_use(const struct conns *conns, const struct tenant *t, bool *ret_known)
{
	uint64_t sum[COT_GPUS_MAX] = {0}, most = 0;
	const struct conn *c;

	*ret_known = false;
	for_each_conn (c, conns) {
		if (c->kind != CONN_WORK || c->tenant != t || !c->memory.limit_bytes)
			continue;
		*ret_known = true;
		sum[c->gpu % COT_GPUS_MAX] += c->memory.used_bytes;
		if (sum[c->gpu % COT_GPUS_MAX] > most)
			most = sum[c->gpu % COT_GPUS_MAX];
	}
	return most;
}

static bool is_of(const struct conns *conns, const struct tenant *t, pid_t pid)
{
	const struct conn *c;

	if (t->watch.pid == pid)
		return true;
	for_each_conn (c, conns)
		if (c->tenant == t && c->pid == pid)
			return true;
	return false;
}

/* The same as NVML has it, with contexts, code and all else. */
static uint64_t on_gpu(const struct conns *conns, const struct tenant *t, bool *ret_known)
{
	const struct energy *e = &conns->roster->energy;
	uint64_t sum[COT_GPUS_MAX] = {0}, most = 0;
	uint32_t i;

	*ret_known = false;
	for (i = 0; i < e->n_processes; i++) {
		const struct cot_meter_process *p = &e->process[i];

		if (p->gpu >= COT_GPUS_MAX || !is_of(conns, t, (pid_t)p->pid))
			continue;
		*ret_known = true;
		sum[p->gpu] += p->bytes;
		if (sum[p->gpu] > most)
			most = sum[p->gpu];
	}
	return most;
}

static json_t *bytes_or_null(bool known, uint64_t bytes)
{
	return known ? json_integer((json_int_t)bytes) : json_null();
}

/* Of a program without a bound only what NVML says. */
static json_t *show_unbounded(bool known, uint64_t bytes)
{
	return known ? json_pack("{s:n, s:n, s:I}", "limit_bytes", "used_bytes", "on_gpu_bytes",
				 (json_int_t)bytes)
		     : json_null();
}

json_t *cot_memory_show(const struct conns *conns, const struct tenant *t)
{
	uint64_t most = t->memory_most_bytes, n_refused = t->n_memory_refused, used;
	const struct conn *c;
	bool seen, known, over, has;
	uint64_t there = on_gpu(conns, t, &has);

	if (!t->memory_mib)
		return show_unbounded(has, there);
	used = in_use(conns, t, &seen);
	over = is_oversubscribed(conns, t, &known);
	for_each_conn (c, conns) {
		if (c->kind != CONN_WORK || c->tenant != t)
			continue;
		n_refused += c->memory.n_refused;
		most = c->memory.most_bytes > most ? c->memory.most_bytes : most;
	}
	return json_pack("{s:I, s:o, s:o, s:o, s:I, s:b, s:b}", "limit_bytes",
			 (json_int_t)t->memory_mib << 20, "used_bytes", bytes_or_null(seen, used),
			 "on_gpu_bytes", bytes_or_null(has, there), "most_bytes",
			 bytes_or_null(seen || most, most), "refused", (json_int_t)n_refused,
			 "promise_checked", (int)known, "oversubscribed", (int)over);
}
