/*
 * Lists what is on the emulated GPU, one line per channel group:
 * "group pid P gpu G engine graphics|copy slice_us S channels N disabled D mode M queued K
 * ran_us R turns T faulted F", after a line "clients N groups N switches N".
 */
#include <stdio.h>

#include "emu/gpu/shared.h"

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

int main(void)
{
	struct cot_emu_model *m;
	struct cot_emu_gpu *gpu;
	uint32_t i, clients = 0, groups = 0;

	if (cot_emu_gpu_observe(&gpu))
		return 1;
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
	cot_emu_gpu_detach(gpu);
	return 0;
}
