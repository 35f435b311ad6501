#include "emu/driver/task.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emu/driver/graph.h"
#include "emu/driver/inside.h"
#include "emu/driver/memory.h"

/* A stream that waits for a value looks at it this often, in wall time. */
#define POLL_NS (50ull * 1000)

void cot_emu_task_drop(struct cot_emu_task *task)
{
	if (task->kind == COT_EMU_TASK_RECORD || task->kind == COT_EMU_TASK_WAIT)
		cot_emu_event_unref(task->event);
	if (task->kind == COT_EMU_TASK_GRAPH)
		cot_emu_graph_exec_unref(task->graph);
	free(task->owned);
	free(task->given);
	*task = (struct cot_emu_task){.kind = COT_EMU_TASK_EMPTY};
}

static void *copy_of(const void *from, size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);

	if (p && bytes)
		memcpy(p, from, bytes);
	return p;
}

CUresult cot_emu_task_dup(const struct cot_emu_task *task, struct cot_emu_task *ret_task)
{
	struct cot_emu_task t = *task;

	t.owned = NULL;
	t.given = NULL;
	if (task->owned && !(t.owned = copy_of(task->owned, task->owned_bytes)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (task->given && !(t.given = copy_of(task->given, sizeof(*task->given)))) {
		free(t.owned);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (t.kind == COT_EMU_TASK_LAUNCH)
		t.launch.args = t.owned;
	if (t.kind == COT_EMU_TASK_COPY && t.owned)
		t.copy.from = t.owned;
	if (t.kind == COT_EMU_TASK_RECORD || t.kind == COT_EMU_TASK_WAIT)
		cot_emu_event_ref(t.event);
	if (t.kind == COT_EMU_TASK_GRAPH)
		cot_emu_graph_exec_ref(t.graph);
	*ret_task = t;
	return CUDA_SUCCESS;
}

bool cot_emu_task_quick(const struct cot_emu_task *task)
{
	return task->kind == COT_EMU_TASK_EMPTY || task->kind == COT_EMU_TASK_COPY ||
	       task->kind == COT_EMU_TASK_SET || task->kind == COT_EMU_TASK_VALUE_WRITE ||
	       task->kind == COT_EMU_TASK_FREE;
}

/* ---- what they do ---- */

/* A word that a running kernel may poll arrives whole. */
static bool copy_word(const struct cot_emu_copy *c)
{
	uint64_t wide;
	uint32_t word;

	if (c->width == sizeof(word) && !((uintptr_t)c->to % sizeof(word))) {
		memcpy(&word, c->from, sizeof(word));
		__atomic_store_n((uint32_t *)(void *)c->to, word, __ATOMIC_RELEASE);
		return true;
	}
	if (c->width == sizeof(wide) && !((uintptr_t)c->to % sizeof(wide))) {
		memcpy(&wide, c->from, sizeof(wide));
		__atomic_store_n((uint64_t *)(void *)c->to, wide, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

static void run_copy(const struct cot_emu_copy *c)
{
	size_t y, z;

	if (c->depth == 1 && c->height == 1) {
		if (copy_word(c))
			return;
		memmove(c->to, c->from, c->width);
		return;
	}
	for (z = 0; z < c->depth; z++)
		for (y = 0; y < c->height; y++)
			memmove(c->to + z * c->to_layer + y * c->to_pitch,
				c->from + z * c->from_layer + y * c->from_pitch, c->width);
}

static void fill_row(unsigned char *to, const struct cot_emu_fill *f)
{
	size_t i;

	if (f->element == 1) {
		memset(to, (int)f->value, f->width);
		return;
	}
	for (i = 0; i < f->width; i++)
		memcpy(to + i * f->element, &f->value, f->element);
}

static void run_fill(const struct cot_emu_fill *f)
{
	unsigned char *to = (unsigned char *)(uintptr_t)f->to;
	size_t y;

	for (y = 0; y < f->height; y++)
		fill_row(to + y * f->pitch, f);
}

static uint64_t read_value(const struct cot_emu_value *v)
{
	const void *at = (const void *)(uintptr_t)v->address;

	if (v->wide)
		return __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
	return __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
}

static bool value_arrived(const struct cot_emu_value *v)
{
	uint64_t now = read_value(v), mask = v->wide ? UINT64_MAX : UINT32_MAX;

	switch (v->flags & 3) {
	case CU_STREAM_WAIT_VALUE_EQ:
		return now == v->value;
	case CU_STREAM_WAIT_VALUE_AND:
		return (now & v->value) != 0;
	case CU_STREAM_WAIT_VALUE_NOR:
		return (~(now | v->value) & mask) != 0;
	default: /* at least, in a ring of numbers */
		return v->wide ? (int64_t)(now - v->value) >= 0
			       : (int32_t)((uint32_t)now - (uint32_t)v->value) >= 0;
	}
}

static bool is_over(struct CUstream_st *s)
{
	bool over;

	pthread_mutex_lock(&s->lock);
	over = s->dropping || atomic_load(&s->context->fault);
	pthread_mutex_unlock(&s->lock);
	return over;
}

static void await_value(struct CUstream_st *s, const struct cot_emu_value *v)
{
	struct timespec pause = {0, (long)POLL_NS};

	while (!value_arrived(v) && !is_over(s))
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static void write_value(const struct cot_emu_value *v)
{
	void *at = (void *)(uintptr_t)v->address;

	if (v->wide)
		__atomic_store_n((uint64_t *)at, v->value, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint32_t *)at, (uint32_t)v->value, __ATOMIC_RELEASE);
}

static CUresult run_launch(struct CUstream_st *s, const struct cot_emu_launch *l)
{
	if (l->function->ops->execute)
		return l->function->ops->execute(s, l);
	return cot_emu_kernel_run(s, l);
}

CUresult cot_emu_task_run(struct CUstream_st *s, struct cot_emu_task *task)
{
	switch (task->kind) {
	case COT_EMU_TASK_LAUNCH:
		return run_launch(s, &task->launch);
	case COT_EMU_TASK_COPY:
		run_copy(&task->copy);
		break;
	case COT_EMU_TASK_SET:
		run_fill(&task->fill);
		break;
	case COT_EMU_TASK_HOST:
		task->host.function(task->host.data);
		break;
	case COT_EMU_TASK_CALLBACK:
		task->host.callback(task->host.stream, CUDA_SUCCESS, task->host.data);
		break;
	case COT_EMU_TASK_RECORD:
		cot_emu_event_stamp(task->event);
		break;
	case COT_EMU_TASK_WAIT:
		(void)cot_emu_event_await(task->event, true);
		break;
	case COT_EMU_TASK_VALUE_WRITE:
		write_value(&task->value);
		break;
	case COT_EMU_TASK_VALUE_WAIT:
		await_value(s, &task->value);
		break;
	case COT_EMU_TASK_GRAPH:
		return cot_emu_graph_exec_run(s, task->graph);
	case COT_EMU_TASK_FREE:
		return cot_emu_free_now(task->free);
	case COT_EMU_TASK_EMPTY:
		break;
	}
	return CUDA_SUCCESS;
}
