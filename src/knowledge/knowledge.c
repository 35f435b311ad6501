#include "knowledge/knowledge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#define BYTES_MAX ((size_t)64 << 20)

struct cot_knowledge *cot_knowledge_create(void)
{
	struct cot_arena *arena = cot_arena_create(BYTES_MAX);
	struct cot_knowledge *k = arena ? cot_arena_alloc(arena, sizeof(*k)) : NULL;

	if (!k) {
		cot_arena_destroy(arena);
		return NULL;
	}
	k->arena = arena;
	k->spread_milli = 1000;
	return k;
}

void cot_knowledge_destroy(struct cot_knowledge *k)
{
	if (k)
		cot_arena_destroy(k->arena);
}

int cot_knowledge_add_input(struct cot_knowledge *k, uint64_t size, struct cot_known_input **ret)
{
	struct cot_known_input *in;
	uint32_t at = k->n_inputs;

	while (at && k->inputs[at - 1]->size > size)
		at--;
	if (at && k->inputs[at - 1]->size == size)
		return -EEXIST;
	if (k->n_inputs == COT_KNOWN_INPUTS_MAX)
		return -ENOSPC;
	in = cot_arena_alloc(k->arena, sizeof(*in));
	if (!in)
		return -ENOMEM;
	in->size = size;
	memmove(&k->inputs[at + 1], &k->inputs[at],
		(k->n_inputs - at) * sizeof(struct cot_known_input *));
	k->inputs[at] = in;
	k->n_inputs++;
	*ret = in;
	return 0;
}

int cot_knowledge_add_kernel(struct cot_knowledge *k, const char *name,
			     struct cot_known_kernel **ret)
{
	struct cot_known_kernel *kernel;

	if (k->n_kernels == COT_KNOWN_KERNELS_MAX)
		return -ENOSPC;
	kernel = cot_arena_alloc(k->arena, sizeof(*kernel));
	if (!kernel)
		return -ENOMEM;
	(void)snprintf(kernel->name, sizeof(kernel->name), "%s", name);
	k->kernels[k->n_kernels++] = kernel;
	*ret = kernel;
	return 0;
}

int cot_knowledge_set_tasks(struct cot_knowledge *k, struct cot_known_input *in,
			    const uint16_t *tasks, uint32_t n)
{
	uint16_t *copy;

	if (n > COT_KNOWN_TASKS_MAX || n > COT_KNOWN_ALL_TASKS - k->n_all_tasks)
		return -ENOSPC;
	copy = cot_arena_alloc_array(k->arena, n, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	if (n)
		memcpy(copy, tasks, n * sizeof(*copy));
	k->n_all_tasks += n;
	in->tasks = copy;
	in->n_tasks = n;
	return 0;
}
