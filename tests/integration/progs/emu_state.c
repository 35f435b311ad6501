/*
 * emu_state: lists what is on the emulated GPU, one line per channel group:
 * "group pid P gpu G engine graphics|copy slice_us S channels N disabled D mode M queued K
 * ran_us R turns T faulted F", after a line "clients N groups N switches N".
 *
 * emu_state thawed SIGNAL DAEMON: sends the daemon the signal, and waits until no program is
 * frozen; "thawed after N ms", without what this program and the libraries waited for a processor.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../support/schedstat.h"
#include "emu/gpu/shared.h"

#define THAWED_MS 60000u

static void print_group(const struct cot_emu_model *m, const struct cot_emu_group *g)
{
	unsigned disabled = 0, mode = COT_NV_PREEMPTION_CILP;
	int32_t c;

	for (c = g->first_channel; c >= 0; c = m->channels[c].next) {
		disabled += m->channels[c].disabled;
		mode = m->channels[c].mode;
	}
	printf("group pid %d gpu %u engine %s slice_us %llu channels %u disabled %u mode %u "
	       "queued %u ran_us %llu turns %llu faulted %u\n",
	       m->clients[g->client].pid, g->gpu,
	       g->engine == COT_EMU_ENGINE_COPY ? "copy" : "graphics",
	       (unsigned long long)g->slice_ns / 1000, g->n_channels, disabled, mode, g->n_queued,
	       (unsigned long long)g->ran_ns / 1000, (unsigned long long)g->n_turns, g->faulted);
}

static int list(struct cot_emu_gpu *gpu)
{
	struct cot_emu_model *m;
	uint32_t i, clients = 0, groups = 0;

	cot_emu_gpu_bury(gpu);
	m = cot_emu_gpu_begin(gpu);
	if (!m)
		return 1;
	cot_emu_model_book(m);
	for (i = 0; i < m->n_clients; i++)
		clients += m->clients[i].used;
	for (i = 0; i < m->n_groups; i++)
		groups += m->groups[i].serial != 0;
	printf("clients %u groups %u switches %llu\n", clients, groups,
	       (unsigned long long)m->engines[0].n_switches);
	for (i = 0; i < m->n_groups; i++)
		if (m->groups[i].serial)
			print_group(m, &m->groups[i]);
	cot_emu_gpu_commit(gpu, false);
	return 0;
}

/* ---- until all are thawed ---- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* Up to `most` processes with something that is frozen. */
static unsigned find_frozen(struct cot_emu_gpu *gpu, int pids[], unsigned most)
{
	struct cot_emu_model *m = cot_emu_gpu_begin(gpu);
	unsigned n = 0;
	uint32_t i;
	int pid;

	for (i = 0; m && i < m->n_channels && n < most; i++) {
		if (!m->channels[i].serial || !m->channels[i].disabled)
			continue;
		pid = m->clients[m->groups[m->channels[i].group].client].pid;
		if (!n || pids[n - 1] != pid)
			pids[n++] = pid;
	}
	if (m)
		cot_emu_gpu_commit(gpu, false);
	return n;
}

/* The one of the library; waited_ns() takes a thread as well. */
static int library_thread(int pid)
{
	char command[128];
	int tid = 0;
	FILE *f;

	snprintf(command, sizeof(command), "grep -lx cotenant /proc/%d/task/*/comm | cut -d/ -f5",
		 pid);
	f = popen(command, "r");
	if (f && fscanf(f, "%d", &tid) != 1)
		tid = 0;
	if (f)
		pclose(f);
	return tid;
}

static uint64_t longest_wait_ns(const int tids[], const uint64_t before[], unsigned n)
{
	uint64_t longest = 0, waited;
	unsigned i;

	for (i = 0; i < n; i++) {
		waited = waited_ns(tids[i]) - before[i];
		longest = waited > longest ? waited : longest;
	}
	return longest;
}

static int thawed(struct cot_emu_gpu *gpu, int signal, int daemon)
{
	uint64_t begun, took = 0, waits, others[64];
	int pids[64], tids[64];
	unsigned n = find_frozen(gpu, pids, 64), i;

	for (i = 0; i < n; i++) {
		tids[i] = library_thread(pids[i]);
		others[i] = waited_ns(tids[i]);
	}
	waits = waited_ns((int)getpid()) + stolen_ns();
	begun = now_ns();
	kill(daemon, signal);
	while (find_frozen(gpu, pids, 1) && took < THAWED_MS * 1000000ull) {
		usleep(1000);
		took = now_ns() - begun;
	}
	waits = waited_ns((int)getpid()) + stolen_ns() - waits + longest_wait_ns(tids, others, n);
	printf("thawed after %llu ms\n",
	       (unsigned long long)(took > waits ? took - waits : 0) / 1000000);
	return n == 0;
}

int main(int argc, char **argv)
{
	struct cot_emu_gpu *gpu;
	int rc;

	if (cot_emu_gpu_observe(&gpu))
		return 1;
	rc = argc == 4 && !strcmp(argv[1], "thawed") ? thawed(gpu, atoi(argv[2]), atoi(argv[3]))
						     : list(gpu);
	cot_emu_gpu_detach(gpu);
	return rc;
}
