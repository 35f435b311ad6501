/*
 * What is said of streams is in a table of sets, so that a launch reads no more than one set,
 * without a lock. A place that is free again keeps its stream's handle until another one gets it:
 * nothing is said there (0).
 */
#include "guest/shim/share.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "cotenant/share.h"
#include "guest/shim/fork.h"
#include "guest/shim/wait.h"
#include "guest/shim/work.h"

#define SETS	128u
#define SET_OF	8u
#define SAID	0x1000000u	   /* else nothing was said: 0 */
#define KEPT(m) (SAID | (m) << 16) /* above the share */

_Static_assert(COT_SHARE_QUOTA == (int)COT_PROTO_WORK_QUOTA &&
		       COT_SHARE_RESERVE == (int)COT_PROTO_WORK_RESERVE &&
		       COT_SHARE_PROGRAM == (int)COT_PROTO_WORK_DEFAULT,
	       "programs and messages have the same methods");

COT_EXPORT int cotenant_share_stream(void *stream, int method, const char *share);
COT_EXPORT int cotenant_share_thread(int method, const char *share);

struct place {
	_Atomic(CUstream) stream;
	_Atomic uint32_t said;
};

static struct place places[SETS][SET_OF];
static _Atomic bool any; /* was ever said of a stream */
static pthread_mutex_t say_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread uint32_t of_thread;

/* ---- what was said ---- */

static struct place *set_of(CUstream stream)
{
	return places[((uint64_t)(uintptr_t)stream >> 4) * 0x9e3779b97f4a7c15u >> 57];
}

_Static_assert(SETS == 1u << (64 - 57), "the hash names a set");

static struct place *find(CUstream stream)
{
	struct place *set = set_of(stream);
	unsigned i;

	for (i = 0; i < SET_OF; i++)
		if (atomic_load_explicit(&set[i].stream, memory_order_acquire) == stream)
			return &set[i];
	return NULL;
}

static struct cot_shim_said unpack(uint32_t said)
{
	return (struct cot_shim_said){.method = (uint8_t)(said >> 16), .share = (uint16_t)said};
}

struct cot_shim_said cot_shim_share_of(CUstream stream)
{
	const struct place *p = COT_UNLIKELY(atomic_load(&any)) ? find(stream) : NULL;
	uint32_t said = p ? atomic_load(&p->said) : 0;

	return unpack(said ? said : of_thread);
}

void cot_shim_share_stream_gone(CUstream stream)
{
	struct place *p = atomic_load(&any) ? find(stream) : NULL;

	if (p)
		atomic_store(&p->said, 0);
}

/* Threads of the parent are not there to let go of the lock. What was said of streams is of the
 * parent's. */
void cot_shim_share_forget(void)
{
	unsigned i;

	say_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	for (i = 0; i < SETS * SET_OF; i++)
		atomic_store(&places[i / SET_OF][i % SET_OF].said, 0);
}

/* ---- saying it ---- */

/* 0: kept by stream. */
static int keep(CUstream stream, uint32_t said)
{
	struct place *set = set_of(stream), *p = find(stream);
	unsigned i;

	for (i = 0; i < SET_OF && !p; i++)
		if (!atomic_load(&set[i].said))
			p = &set[i];
	if (!p)
		return -ENOSPC;
	/* A launch in a stream that had the place finds the new stream there, or nothing said. */
	if (atomic_load(&p->stream) != stream)
		atomic_store_explicit(&p->stream, stream, memory_order_release);
	atomic_store(&p->said, said);
	atomic_store(&any, true);
	return 0;
}

static int read_said(int method, const char *share, uint32_t *ret_said)
{
	struct cot_share s = {0};

	cot_shim_driver_load();
	if (!cot_shim_rewrites())
		return -ENOSYS;
	if (method < COT_SHARE_PROGRAM || method > COT_SHARE_RESERVE ||
	    (share && (method == COT_SHARE_PROGRAM || !cot_share_read(share, &s))))
		return -EINVAL;
	*ret_said = KEPT((uint32_t)method) | cot_share_pack(s);
	return 0;
}

/* Whether what was kept has an effect. */
static int effect(int method)
{
	bool there;

	if (method == COT_SHARE_RESERVE && cot_shim_settings.class_ != COT_CLASS_LATENCY)
		return -EPERM;
	pthread_mutex_lock(&cot_shim_lock);
	there = cot_shim_gpus_are_there();
	pthread_mutex_unlock(&cot_shim_lock);
	return there ? 0 : -ENOTCONN;
}

COT_EXPORT int cotenant_share_stream(void *stream, int method, const char *share)
{
	uint32_t said;
	int rc = read_said(method, share, &said);

	if (rc < 0)
		return rc;
	pthread_mutex_lock(&say_lock);
	rc = keep(stream ? stream : CU_STREAM_LEGACY, said);
	pthread_mutex_unlock(&say_lock);
	return rc < 0 ? rc : effect(method);
}

COT_EXPORT int cotenant_share_thread(int method, const char *share)
{
	int rc = read_said(method, share, &of_thread);

	return rc < 0 ? rc : effect(method);
}
