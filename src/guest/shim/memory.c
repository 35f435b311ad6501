#include "guest/shim/memory.h"

#include <pthread.h>
#include <stdlib.h>

#define BUCKETS 4096u

struct note {
	struct note *next;
	enum cot_shim_memory_kind kind;
	uint64_t name, bytes;
	CUcontext context; /* NULL: it does not end with one */
	int device;
	uint32_t n_holds; /* of physical memory: its handle, and what is mapped */
};

/* Where a piece of physical memory is mapped. */
struct map {
	struct map *next;
	CUdeviceptr at;
	uint64_t handle;
};

/* Of a GPU. */
struct used {
	uint64_t bytes;	     /* but for pools */
	uint64_t pool_bytes; /* when it was looked at last */
	uint64_t most_bytes, n_refused;
	uint64_t gpu_bytes; /* that there are; 0: not looked at */
	bool is_news;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all below */
static struct note *notes[BUCKETS];
static struct map *maps;
static struct used all[COT_SHIM_MEMORY_GPUS];

/* ---- what is known ---- */

static struct note **bucket_of(uint64_t name)
{
	return &notes[((name >> 8) * 0x9e3779b97f4a7c15u >> 40) % BUCKETS];
}

static struct note **find(enum cot_shim_memory_kind kind, uint64_t name)
{
	struct note **link = bucket_of(name);

	while (*link && ((*link)->kind != kind || (*link)->name != name))
		link = &(*link)->next;
	return link;
}

static void take_out(struct note **link)
{
	struct note *n = *link;

	*link = n->next;
	all[n->device].bytes -= n->bytes;
	all[n->device].is_news = true;
	free(n);
}

static void release(enum cot_shim_memory_kind kind, uint64_t name)
{
	struct note **link = find(kind, name);

	if (*link && !--(*link)->n_holds)
		take_out(link);
}

/* Without memory for a note it is not counted: the program goes on. */
static void enter(const struct note *as)
{
	struct note **link = bucket_of(as->name), *n = malloc(sizeof(*n));

	if (!n) {
		all[as->device].bytes -= as->bytes;
		return;
	}
	*n = *as;
	n->n_holds = 1;
	n->next = *link;
	*link = n;
}

/* ---- pools ---- */

static uint64_t pool_number(CUmemoryPool pool, CUmemPool_attribute what)
{
	uint64_t n = 0;

	return pool && !COT_REAL(cuMemPoolGetAttribute)(pool, what, &n) ? n : 0;
}

static CUmemoryPool default_pool(int device)
{
	CUmemoryPool pool = NULL;

	return COT_REAL(cuDeviceGetDefaultMemPool)(&pool, device) ? NULL : pool;
}

static uint64_t reserved(CUmemoryPool pool, bool trim)
{
	if (trim && pool)
		(void)COT_REAL(cuMemPoolTrimTo)(pool, 0);
	return pool_number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
}

/* What the driver has taken from the device for the pools that the program knows. */
static uint64_t look_at_pools(int device, bool trim)
{
	uint64_t sum = reserved(default_pool(device), trim);
	const struct note *n;
	unsigned i;

	for (i = 0; i < BUCKETS; i++)
		for (n = notes[i]; n; n = n->next)
			if (n->kind == COT_SHIM_MEMORY_POOL && n->device == device)
				sum += reserved((CUmemoryPool)(uintptr_t)n->name, trim);
	return all[device].pool_bytes = sum;
}

/* So much more than it has now it needs of the device. */
static uint64_t growth(CUmemoryPool pool, uint64_t bytes)
{
	uint64_t used = pool_number(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
	uint64_t has = pool_number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
	uint64_t rest = has > used ? has - used : 0;

	return bytes > rest ? bytes - rest : 0;
}

/* ---- whether it fits ---- */

static bool fits(int device, uint64_t bytes, CUmemoryPool pool, bool trim, uint64_t *ret_bytes)
{
	uint64_t limit = cot_shim_settings.memory_bytes;
	uint64_t has = look_at_pools(device, trim) + all[device].bytes;

	*ret_bytes = pool ? growth(pool, bytes) : bytes;
	return has <= limit && *ret_bytes <= limit - has;
}

/* What pools only keep is given back before the program is refused. */
static CUresult claim(int device, uint64_t bytes, CUmemoryPool pool,
		      struct cot_shim_memory_claim *ret_claim)
{
	struct used *u = &all[device];
	uint64_t takes = 0, sum;
	size_t total;
	bool may;

	pthread_mutex_lock(&lock);
	may = fits(device, bytes, pool, false, &takes) || fits(device, bytes, pool, true, &takes);
	u->is_news = true;
	if (!u->gpu_bytes && COT_REAL(cuDeviceTotalMem_v2)(&total, device) == CUDA_SUCCESS)
		u->gpu_bytes = total;
	if (may) {
		u->bytes += takes;
		sum = u->bytes + u->pool_bytes;
		u->most_bytes = sum > u->most_bytes ? sum : u->most_bytes;
		*ret_claim = (struct cot_shim_memory_claim){device, takes};
	} else {
		u->n_refused++;
	}
	pthread_mutex_unlock(&lock);
	return may ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static bool is_counted(int device)
{
	return device >= 0 && device < COT_SHIM_MEMORY_GPUS;
}

/* -1: there is none, which the driver will say. */
static int current_device(void)
{
	CUdevice device;

	return COT_REAL(cuCtxGetDevice)(&device) ? -1 : device;
}

CUresult cot_shim_memory_claim(int device, uint64_t bytes, struct cot_shim_memory_claim *ret_claim)
{
	*ret_claim = (struct cot_shim_memory_claim){.device = -1};
	if (device < 0)
		device = current_device();
	return is_counted(device) ? claim(device, bytes, NULL, ret_claim) : CUDA_SUCCESS;
}

static int device_of(CUmemoryPool pool)
{
	const struct note *n;
	int device;

	pthread_mutex_lock(&lock);
	n = *find(COT_SHIM_MEMORY_POOL, (uintptr_t)pool);
	device = n ? n->device : -1;
	pthread_mutex_unlock(&lock);
	return device;
}

CUresult cot_shim_memory_claim_pool(CUmemoryPool pool, uint64_t bytes,
				    struct cot_shim_memory_claim *ret_claim)
{
	int device = pool ? device_of(pool) : -1;

	*ret_claim = (struct cot_shim_memory_claim){.device = -1};
	if (device < 0)
		device = current_device();
	if (!is_counted(device) || (!pool && COT_REAL(cuDeviceGetMemPool)(&pool, device)))
		return CUDA_SUCCESS;
	return claim(device, bytes, pool, ret_claim);
}

/* ---- from the driver's answer on ---- */

void cot_shim_memory_settle(const struct cot_shim_memory_claim *c, CUresult rc,
			    enum cot_shim_memory_kind kind, uint64_t name)
{
	struct note as = {.kind = kind, .name = name, .bytes = c->bytes, .device = c->device};

	if (c->device < 0)
		return;
	if (kind != COT_SHIM_MEMORY_HANDLE && COT_REAL(cuCtxGetCurrent)(&as.context))
		as.context = NULL;
	pthread_mutex_lock(&lock);
	if (rc || kind == COT_SHIM_MEMORY_POOL)
		all[c->device].bytes -= c->bytes;
	else
		enter(&as);
	if (kind == COT_SHIM_MEMORY_POOL) /* the driver says what it has */
		(void)look_at_pools(c->device, false);
	pthread_mutex_unlock(&lock);
}

void cot_shim_memory_drop(enum cot_shim_memory_kind kind, uint64_t name)
{
	pthread_mutex_lock(&lock);
	release(kind, name);
	pthread_mutex_unlock(&lock);
}

void cot_shim_memory_pool(CUmemoryPool pool, int device)
{
	const struct note as = {
		.kind = COT_SHIM_MEMORY_POOL, .name = (uintptr_t)pool, .device = device};

	if (!is_counted(device))
		return;
	pthread_mutex_lock(&lock);
	enter(&as);
	pthread_mutex_unlock(&lock);
}

void cot_shim_memory_context_gone(CUcontext context)
{
	struct note **link;
	unsigned i;

	if (!context)
		return;
	pthread_mutex_lock(&lock);
	for (i = 0; i < BUCKETS; i++)
		for (link = &notes[i]; *link;)
			if ((*link)->context == context)
				take_out(link);
			else
				link = &(*link)->next;
	pthread_mutex_unlock(&lock);
}

/* ---- physical memory ---- */

static bool hold(uint64_t handle)
{
	struct note *n = *find(COT_SHIM_MEMORY_HANDLE, handle);

	if (n)
		n->n_holds++;
	return n;
}

void cot_shim_memory_hold(uint64_t handle)
{
	pthread_mutex_lock(&lock);
	(void)hold(handle);
	pthread_mutex_unlock(&lock);
}

void cot_shim_memory_map(uint64_t handle, CUdeviceptr at)
{
	struct map *m = malloc(sizeof(*m));

	pthread_mutex_lock(&lock);
	if (m && hold(handle)) {
		*m = (struct map){maps, at, handle};
		maps = m;
		m = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(m);
}

void cot_shim_memory_unmap(CUdeviceptr at, size_t bytes)
{
	struct map **link = &maps, *m;

	pthread_mutex_lock(&lock);
	while ((m = *link)) {
		if (m->at < at || m->at - at >= bytes) {
			link = &m->next;
			continue;
		}
		*link = m->next;
		release(COT_SHIM_MEMORY_HANDLE, m->handle);
		free(m);
	}
	pthread_mutex_unlock(&lock);
}

/* ---- what is told ---- */

void cot_shim_memory_info(size_t *free_bytes, size_t *total_bytes)
{
	uint64_t limit = cot_shim_settings.memory_bytes, has, left;
	int device = current_device();

	if (!is_counted(device))
		return;
	pthread_mutex_lock(&lock);
	has = look_at_pools(device, false) + all[device].bytes;
	pthread_mutex_unlock(&lock);
	left = has < limit ? limit - has : 0;
	if (free_bytes && *free_bytes > left)
		*free_bytes = left;
	if (total_bytes && *total_bytes > limit)
		*total_bytes = limit;
}

bool cot_shim_memory_tell(int device, bool always, struct cot_msg_memory *ret_m)
{
	struct used *u;
	bool tells;

	if (!cot_shim_settings.memory_bytes || !is_counted(device))
		return false;
	pthread_mutex_lock(&lock);
	u = &all[device];
	tells = u->is_news || always;
	u->is_news = false;
	*ret_m = (struct cot_msg_memory){.limit_bytes = cot_shim_settings.memory_bytes,
					 .gpu_bytes = u->gpu_bytes,
					 .used_bytes = u->bytes + u->pool_bytes,
					 .most_bytes = u->most_bytes,
					 .n_refused = u->n_refused};
	pthread_mutex_unlock(&lock);
	return tells;
}

/* What the notes name is the parent's. */
static void drop_first(struct note **link)
{
	struct note *n = *link;

	*link = n->next;
	free(n);
}

void cot_shim_memory_forget(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
	unsigned i;

	lock = unlocked;
	for (i = 0; i < BUCKETS; i++)
		while (notes[i])
			drop_first(&notes[i]);
	for (i = 0; i < COT_SHIM_MEMORY_GPUS; i++)
		all[i] = (struct used){0};
	maps = NULL;
}
