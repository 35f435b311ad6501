/*
 * From handles to what is known of them. Every launch looks here, so a search takes no lock: the
 * table is an array of pointers to entries, which never move and are never freed, only reused. A
 * thread that finds an entry while another thread reuses it finds another handle in it. A larger
 * table replaces a full one; the old one stays for threads that still read it (all old ones
 * together are no larger than the new one). A thread that does not find a handle searches again
 * under the lock.
 */
#include <stdlib.h>

#include "guest/shim/code.h"
#include "guest/shim/driver.h"

#define FIRST_SIZE 1024u
#define REFS_MAX   (1u << 20)

struct table {
	size_t size; /* a power of two */
	struct table *before;
	_Atomic(struct cot_shim_ref *) slots[];
};

static _Atomic(struct table *) current;
static struct table *spare;   /* the one before, if it has the same size */
static struct table *retired; /* smaller ones: threads may still read them */
static size_t n_used;	      /* slots that were ever filled; as all below, under the code's lock */
static struct cot_shim_ref **refs, **unused;
static size_t n_refs, n_unused, room;

/* In a slot whose entry is gone: those that follow are still to be found. */
static struct cot_shim_ref gone;

static size_t place_of(cot_shim_handle handle, size_t size)
{
	uint64_t x = (uint64_t)(uintptr_t)handle;

	return (size_t)((x >> 4) * 0x9e3779b97f4a7c15u >> 32) & (size - 1);
}

struct cot_shim_ref *cot_shim_handles_find(cot_shim_handle handle)
{
	struct table *t = atomic_load_explicit(&current, memory_order_acquire);
	struct cot_shim_ref *r;
	size_t at, i;

	if (!t || !handle)
		return NULL;
	at = place_of(handle, t->size);
	for (i = 0; i < t->size; i++) {
		r = atomic_load_explicit(&t->slots[(at + i) & (t->size - 1)], memory_order_acquire);
		if (!r)
			return NULL;
		if (atomic_load_explicit(&r->handle, memory_order_acquire) == handle)
			return r;
	}
	return NULL;
}

static void enter(struct table *t, struct cot_shim_ref *r)
{
	size_t at = place_of(atomic_load(&r->handle), t->size), i;
	struct cot_shim_ref *there;

	for (i = 0; i < t->size; i++) {
		_Atomic(struct cot_shim_ref *) *slot = &t->slots[(at + i) & (t->size - 1)];

		there = atomic_load(slot);
		if (there && there != &gone)
			continue;
		n_used += there == NULL;
		atomic_store_explicit(slot, r, memory_order_release);
		return;
	}
}

static void retire(struct table *t)
{
	t->before = retired;
	retired = t;
}

static struct table *new_table(size_t size)
{
	struct table *t = spare;
	size_t i;

	spare = NULL;
	if (t && t->size != size) {
		retire(t);
		t = NULL;
	}
	if (!t)
		return calloc(1, sizeof(*t) + size * sizeof(t->slots[0]));
	for (i = 0; i < size; i++)
		atomic_store(&t->slots[i], NULL);
	return t;
}

/* A table with room for one more. */
static struct table *make_room(void)
{
	struct table *t = atomic_load(&current), *larger;
	size_t size = t ? t->size : FIRST_SIZE / 2, i;

	if (t && n_used < t->size / 2)
		return t;
	/* Mostly entries that are gone: the same size will do. */
	if (!t || n_refs - n_unused > size / 4)
		size *= 2;
	larger = new_table(size);
	if (!larger)
		return t && n_used + 1 < t->size ? t : NULL;
	larger->size = size;
	n_used = 0;
	for (i = 0; i < n_refs; i++)
		if (atomic_load(&refs[i]->handle))
			enter(larger, refs[i]);
	atomic_store_explicit(&current, larger, memory_order_release);
	if (t && t->size == size)
		spare = t;
	else if (t)
		retire(t);
	return larger;
}

static bool grow_lists(void)
{
	size_t more = room ? 2 * room : 256;
	struct cot_shim_ref **a = realloc(refs, more * sizeof(void *)), **b;

	if (a)
		refs = a;
	b = a ? realloc(unused, more * sizeof(void *)) : NULL;
	if (!b)
		return false;
	unused = b;
	room = more;
	return true;
}

static struct cot_shim_ref *new_ref(void)
{
	struct cot_shim_ref *r;

	if (n_unused)
		return unused[--n_unused];
	if (n_refs == REFS_MAX || (n_refs == room && !grow_lists()))
		return NULL;
	r = calloc(1, sizeof(*r));
	if (r)
		refs[n_refs++] = r;
	return r;
}

struct cot_shim_ref *cot_shim_handles_put(cot_shim_handle handle)
{
	struct cot_shim_ref *r = cot_shim_handles_find(handle);
	struct table *t;

	if (r || !handle)
		return r;
	t = make_room();
	r = t ? new_ref() : NULL;
	if (!r)
		return NULL;
	r->code = NULL;
	r->kernel = NULL;
	r->owner = NULL;
	r->workers = NULL;
	atomic_store(&r->cpu, NULL);
	atomic_store(&r->fit, 0);
	atomic_store(&r->task_ns, 0);
	atomic_store(&r->n_launched, 0);
	atomic_store(&r->n_timed, 0);
	atomic_store(&r->loaded, false);
	atomic_store(&r->broken, false);
	atomic_store(&r->told, false);
	atomic_store_explicit(&r->handle, handle, memory_order_release);
	enter(t, r);
	return r;
}

static void drop(struct cot_shim_ref *r)
{
	struct table *t = atomic_load(&current);
	size_t at = place_of(atomic_load(&r->handle), t->size), i;

	for (i = 0; i < t->size; i++)
		if (atomic_load(&t->slots[(at + i) & (t->size - 1)]) == r)
			break;
	if (i < t->size)
		atomic_store(&t->slots[(at + i) & (t->size - 1)], &gone);
	atomic_store(&r->handle, NULL);
	unused[n_unused++] = r;
}

void cot_shim_handles_drop(cot_shim_handle owner)
{
	size_t i;

	for (i = 0; i < n_refs; i++)
		if (atomic_load(&refs[i]->handle) && (!refs[i]->code || refs[i]->owner == owner))
			drop(refs[i]);
}

void cot_shim_handles_clear(void)
{
	size_t i;

	for (i = 0; i < n_refs; i++)
		if (atomic_load(&refs[i]->handle))
			drop(refs[i]);
}
