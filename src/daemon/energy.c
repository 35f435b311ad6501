#include "daemon/energy.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/basis.h"
#include "daemon/child.h"
#include "daemon/log.h"
#include "daemon/roster.h"

#define LOOK_NS	     (100 * COT_NS_PER_MS)
#define MEMORY_LOOKS 10u /* every so many looks, at memory as well */
#define MJ_PER_J     1e3
#define MW_PER_W     1000u
#define NVML_DEVICES "/dev/nvidiactl"

/* ---- whose it is ---- */

/* What the core has added up since the last look. It begins anew with a program that comes again.
 */
static struct cot_ran since_look(struct energy *e, struct tenant *t, uint64_t now_ns)
{
	struct cot_ran *counted = &t->energy.counted, ran, since;

	if (!cot_sched_ran(cot_host_sched(e->basis->host), t->id, now_ns, &ran))
		return (struct cot_ran){0};
	if (ran.ns < counted->ns || ran.sm_ns < counted->sm_ns)
		*counted = (struct cot_ran){0};
	since = (struct cot_ran){ran.ns - counted->ns, ran.sm_ns - counted->sm_ns};
	*counted = ran;
	return since;
}

static void count_time(struct energy *e, uint64_t now_ns)
{
	struct tenant *t;
	unsigned gpu;

	for_each_tenant (t, e->roster) {
		struct cot_ran since = since_look(e, t, now_ns);

		t->energy.look_s = (double)since.ns / (double)COT_NS_PER_S;
		t->energy.ran_s += t->energy.look_s;
		for (gpu = 0; gpu < COT_GPUS_MAX; gpu++)
			if (t->gpu_mask >> gpu & 1)
				t->energy.waiting[gpu] +=
					(double)since.sm_ns / (double)COT_NS_PER_S;
	}
	cot_energy_gangs_look(e, now_ns);
}

static void divide(struct energy *e, unsigned gpu, double joules)
{
	bool rested = e->gpu[gpu].rested;
	struct tenant *t;
	double all = 0;

	e->gpu[gpu].rested = false;
	for_each_tenant (t, e->roster)
		all += rested ? 0 : t->energy.waiting[gpu];
	if (!(all > 0))
		e->gpu[gpu].nobody_j += joules;
	for_each_tenant (t, e->roster) {
		if (all > 0) {
			t->energy.joules += joules * t->energy.waiting[gpu] / all;
			cot_energy_gangs_take(e, t, joules * t->energy.waiting[gpu] / all);
		}
		t->energy.waiting[gpu] = 0;
	}
}

static void take(struct energy *e, unsigned gpu, const struct cot_meter_gpu *m, uint64_t now_ns)
{
	struct cot_energy_gpu *g = &e->gpu[gpu];
	struct tenant *t;

	if (!m->known)
		return;
	g->power_mw = m->power_mw;
	/* The first value, or a counter that began again. */
	if (!g->known || m->energy_mj < g->last_mj) {
		for_each_tenant (t, e->roster)
			t->energy.waiting[gpu] = 0;
		if (!g->known)
			*g = (struct cot_energy_gpu){.begin_mj = m->energy_mj,
						     .begin_ns = now_ns,
						     .power_mw = m->power_mw};
		else
			g->begin_mj += m->energy_mj - g->last_mj; /* what was counted stays */
		g->known = true;
	} else if (m->energy_mj > g->last_mj) {
		divide(e, gpu, (double)(m->energy_mj - g->last_mj) / MJ_PER_J);
	} else {
		return;
	}
	g->last_mj = m->energy_mj;
	g->last_ns = now_ns;
}

/* ---- the process that reads the counters ---- */

static void close_source(struct energy *e)
{
	if (e->source.fd < 0)
		return;
	cot_loop_remove(&e->basis->loop, &e->source);
	(void)close(e->source.fd);
	e->source.fd = -1;
}

static void give_up(struct energy *e, const char *why)
{
	(void)snprintf(e->why_not, sizeof(e->why_not), "%s", why);
	e->n_processes = 0;
	close_source(e); /* then the process ends */
	cot_timer_clear(&e->timer);
}

static void answered(struct cot_source *source, uint32_t events)
{
	struct energy *e = COT_CONTAINER_OF(source, struct energy, source);
	static struct cot_meter_answer answer;
	ssize_t n = recv(source->fd, &answer, sizeof(answer), MSG_DONTWAIT);
	uint64_t now_ns = cot_now_ns();
	bool any = false;
	unsigned gpu;

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof(answer)) {
		give_up(e, "the process that reads NVML has ended");
		return;
	}
	e->asked = false;
	answer.why_not[sizeof(answer.why_not) - 1] = '\0';
	if (answer.why_not[0]) {
		give_up(e, answer.why_not);
		return;
	}
	count_time(e, now_ns);
	for (gpu = 0; gpu < COT_GPUS_MAX; gpu++) {
		take(e, gpu, &answer.gpu[gpu], now_ns);
		e->memory_bytes[gpu] = answer.gpu[gpu].memory_bytes;
		any |= cot_sched_set_limit_w(cot_host_sched(e->basis->host), gpu,
					     answer.gpu[gpu].limit_mw / MW_PER_W);
	}
	if (any)
		cot_host_tick(e->basis->host, now_ns);
	if (!answer.has_memory || answer.n_processes > COT_METER_PROCESSES_MAX)
		return;
	e->n_processes = answer.n_processes;
	memcpy(e->process, answer.process, answer.n_processes * sizeof(e->process[0]));
}

/* In the child. */
static void read_nvml(int fd, const void *with)
{
	const struct cot_gpus *found = with;
	struct cot_meter_gpus gpus = {.n = found->n};
	uint32_t i;

	for (i = 0; i < gpus.n && i < COT_METER_GPUS_MAX; i++)
		(void)snprintf(gpus.uuid[i], sizeof(gpus.uuid[i]), "%s", found->gpu[i].uuid);
	cot_meter_serve(fd, &gpus);
}

static int start(struct energy *e)
{
	int fd, rc = cot_child_start("cotenant-meter", read_nvml, &e->basis->gpus, &fd, &e->pid);

	if (rc)
		return rc;
	e->source = (struct cot_source){.fd = fd, .ready = answered};
	rc = cot_loop_add(&e->basis->loop, &e->source, EPOLLIN);
	if (rc) {
		(void)close(fd);
		e->source.fd = -1;
	}
	return rc;
}

/* Time is counted at each look, also while the process takes long. */
static void look(struct cot_timer *timer, uint64_t now_ns)
{
	struct energy *e = COT_CONTAINER_OF(timer, struct energy, timer);
	char what;

	if (e->source.fd < 0)
		return;
	count_time(e, now_ns);
	what = e->n_looks++ % MEMORY_LOOKS ? COT_METER_ENERGY : COT_METER_MEMORY;
	if (!e->asked)
		e->asked = send(e->source.fd, &what, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
	if (cot_tenant_count(e->roster))
		cot_timer_set(&e->basis->loop, timer, now_ns + LOOK_NS);
}

void cot_energy_begin(struct energy *e)
{
	const char *file = getenv("COTENANT_NVML");
	uint64_t now_ns = cot_now_ns();
	unsigned gpu;
	int rc;

	if (!e->tried) {
		e->tried = true;
		e->source.fd = -1;
		if (!(file && *file) && access(NVML_DEVICES, F_OK)) {
			give_up(e, "there is no NVIDIA GPU here");
			return;
		}
		rc = start(e);
		if (rc < 0) {
			log_warn("no energy is measured: %s", strerror(-rc));
			give_up(e, strerror(-rc));
		}
	}
	if (e->source.fd < 0 || e->timer.armed)
		return;
	for (gpu = 0; gpu < COT_GPUS_MAX; gpu++)
		e->gpu[gpu].rested = true;
	e->timer.fire = look;
	cot_timer_set(&e->basis->loop, &e->timer, now_ns);
}

void cot_energy_reap(struct energy *e)
{
	cot_child_reap(&e->pid);
}

void cot_energy_end(struct energy *e)
{
	if (!e->tried)
		return;
	close_source(e);
	if (e->pid)
		(void)kill(e->pid, SIGKILL);
}
