#include "emu/gpu/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "emu/gpu/folder.h"
#include "emu/gpu/futex.h"

#define REGION_MAGIC   0x756d652d746f6375ull
#define REGION_VERSION 5u
#define BOOT_ID_SIZE   40

/* Waiters look for dead neighbours this often, in wall time. */
#define NEIGHBOUR_NS (20ull * 1000 * 1000)
/* And at the whole state this often, in case a wake-up was lost with a killed process. */
#define RECHECK_NS (100ull * 1000 * 1000)
/* Events that a wait looks ahead; beyond that it sleeps to where it got and looks again. */
#define MAX_LOOK_AHEAD 4096u

struct region {
	uint64_t magic; /* written last */
	uint32_t version, size;
	char boot_id[BOOT_ID_SIZE]; /* the monotonic clock starts again with each boot */
	uint64_t origin_ns;	    /* wall clock at GPU time 0 */
	struct cot_emu_config config;
	pthread_mutex_t mutex;
	_Atomic uint32_t active;    /* which model counts */
	_Atomic uint32_t n_changes; /* waiters sleep on this */
	/* Of the GPUs' memory, what each client has: only its own process changes that. */
	_Atomic uint64_t memory_bytes[COT_EMU_MAX_CLIENTS][COT_EMU_MAX_GPUS];
	struct cot_emu_model models[2];
};

struct cot_emu_gpu {
	struct region *region;
	int lives_fd; /* byte n is locked while client n lives */
	int32_t client;
	pid_t pid;
};

static pthread_mutex_t attach_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cot_emu_gpu *attached; /* under attach_lock */
static _Atomic int attached_pid;     /* 0: no process */

static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static uint64_t gpu_time(const struct region *r, uint64_t wall)
{
	if (wall < r->origin_ns)
		return 0;
	return (uint64_t)((cot_u128)(wall - r->origin_ns) * 1000 / r->config.scale_milli);
}

/* The first wall time at which the GPU's clock shows at least gpu_ns. */
static uint64_t wall_time(const struct region *r, uint64_t gpu_ns)
{
	cot_u128 wall = ((cot_u128)gpu_ns * r->config.scale_milli + 999) / 1000 + r->origin_ns;

	return wall > INT64_MAX ? INT64_MAX : (uint64_t)wall;
}

static void read_boot_id(char id[BOOT_ID_SIZE])
{
	ssize_t n = 0;
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	memset(id, 0, BOOT_ID_SIZE);
	if (fd < 0)
		return;
	n = read(fd, id, BOOT_ID_SIZE - 1);
	if (n < 0)
		id[0] = 0;
	close(fd);
}

/* ---- the folder ---- */

int cot_emu_gpu_open_node(const char *name, int flags)
{
	int dir = cot_emu_folder_open(), fd;

	if (dir < 0)
		return dir;
	fd = cot_emu_folder_file(dir, name, (flags & O_CLOEXEC) | O_RDWR);
	close(dir);
	return fd;
}

/* ---- living processes ---- */

static struct flock life(uint32_t first, uint32_t n, short type)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = first, .l_len = n};
}

static bool lives(const struct cot_emu_gpu *gpu, uint32_t client)
{
	struct flock lock = life(client, 1, F_WRLCK);

	if (gpu->client == (int32_t)client)
		return true;
	return fcntl(gpu->lives_fd, F_GETLK, &lock) || lock.l_type != F_UNLCK;
}

static bool anybody_lives(int lives_fd)
{
	struct flock lock = life(0, COT_EMU_MAX_CLIENTS, F_WRLCK);

	return fcntl(lives_fd, F_GETLK, &lock) || lock.l_type != F_UNLCK;
}

/* ---- the shared region ---- */

static int init_mutex(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attr;
	int err = pthread_mutexattr_init(&attr);

	if (err)
		return -err;
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	err = pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	return -err;
}

/* With the folder locked, and no process alive. */
static int init_region(struct region *r)
{
	int err;

	r->magic = 0;
	atomic_signal_fence(memory_order_seq_cst);
	r->version = REGION_VERSION;
	r->size = sizeof(*r);
	read_boot_id(r->boot_id);
	r->config = cot_emu_config_read();
	r->origin_ns = wall_ns();
	err = init_mutex(&r->mutex);
	if (err)
		return err;
	atomic_store(&r->active, 0);
	cot_emu_model_init(&r->models[0], &r->config.params, 0);
	cot_emu_model_init(&r->models[1], &r->config.params, 0);
	atomic_thread_fence(memory_order_seq_cst);
	r->magic = REGION_MAGIC;
	return 0;
}

static bool region_fits(const struct region *r)
{
	char boot_id[BOOT_ID_SIZE];

	read_boot_id(boot_id);
	return r->magic == REGION_MAGIC && r->version == REGION_VERSION && r->size == sizeof(*r) &&
	       !memcmp(boot_id, r->boot_id, BOOT_ID_SIZE);
}

static int lock(struct region *r)
{
	int err = pthread_mutex_lock(&r->mutex);

	return err == EOWNERDEAD ? pthread_mutex_consistent(&r->mutex) : err;
}

/* A process may die before this store or after it, but not in the middle. */
static void publish(struct region *r)
{
	uint32_t active = atomic_load_explicit(&r->active, memory_order_relaxed) & 1;

	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&r->active, !active, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
}

/* A new machine in place of a whole one, which a process that only looks may be at. With the folder
 * locked, and no process alive. */
static int renew_region(struct region *r)
{
	if (lock(r))
		return init_region(r);
	r->config = cot_emu_config_read();
	r->origin_ns = wall_ns();
	cot_emu_model_init(&r->models[!(atomic_load(&r->active) & 1)], &r->config.params, 0);
	publish(r);
	pthread_mutex_unlock(&r->mutex);
	return 0;
}

/* Maps the region, and makes a new machine of it if no process uses the old one. */
static int map_region(int dir, struct cot_emu_gpu *gpu, bool observe)
{
	int fd = cot_emu_folder_file(dir, "gpu", O_RDWR | O_CLOEXEC), err = 0;
	struct region *r;
	struct stat st;
	bool fits;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st)) {
		err = -errno;
		goto out;
	}
	if (!anybody_lives(gpu->lives_fd))
		err = cot_emu_folder_fill(fd, sizeof(*r));
	else if (st.st_size != sizeof(*r))
		err = -EPROTO;
	if (err)
		goto out;
	r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r == MAP_FAILED) {
		err = -errno;
		goto out;
	}
	fits = region_fits(r);
	if (!anybody_lives(gpu->lives_fd)) {
		if (!fits)
			err = init_region(r);
		else if (!observe)
			err = renew_region(r);
	} else if (!fits) {
		err = -EPROTO;
	}
	if (err)
		munmap(r, sizeof(*r));
	else
		gpu->region = r;
out:
	close(fd);
	return err;
}

static uint64_t start_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* Forgets clients whose process has died; true if there was one. */
static bool bury_dead(struct cot_emu_gpu *gpu, struct cot_emu_model *m, bool only_busy)
{
	bool found = false;
	uint32_t i;

	for (i = 0; i < m->n_clients; i++) {
		if (!m->clients[i].used || (only_busy && !cot_emu_model_client_busy(m, i)) ||
		    lives(gpu, i))
			continue;
		cot_emu_model_client_drop(m, i);
		found = true;
	}
	return found;
}

/* A slot in the model and the lock that says that we live. */
static int join(struct cot_emu_gpu *gpu)
{
	struct cot_emu_model *m = cot_emu_gpu_begin(gpu);
	struct flock lock;
	uint32_t slot = 0, n;
	bool sooner;
	int err;

	if (!m)
		return -EIO;
	sooner = bury_dead(gpu, m, false);
	while (!(err = cot_emu_model_client_add(m, slot, getpid(), start_time(), &slot))) {
		lock = life(slot, 1, F_WRLCK);
		if (!fcntl(gpu->lives_fd, F_SETLK, &lock))
			break;
		/* Its last user has left the model and is about to drop the lock. */
		cot_emu_model_client_drop(m, slot++);
	}
	if (!err) {
		gpu->client = (int32_t)slot;
		for (n = 0; n < COT_EMU_MAX_GPUS; n++)
			atomic_store(&gpu->region->memory_bytes[slot][n], 0);
	}
	cot_emu_gpu_commit(gpu, sooner);
	return err;
}

static void close_gpu(struct cot_emu_gpu *gpu)
{
	if (gpu->region)
		munmap(gpu->region, sizeof(*gpu->region));
	if (gpu->lives_fd >= 0)
		close(gpu->lives_fd);
	free(gpu);
}

static int open_gpu(bool observe, struct cot_emu_gpu **ret_gpu)
{
	struct cot_emu_gpu *gpu = calloc(1, sizeof(*gpu));
	int dir, err;

	if (!gpu)
		return -ENOMEM;
	gpu->lives_fd = -1;
	gpu->client = -1;
	gpu->pid = getpid();
	dir = cot_emu_folder_open();
	if (dir < 0) {
		err = dir;
		goto err_gpu;
	}
	gpu->lives_fd = cot_emu_folder_file(dir, "clients", O_RDWR | O_CLOEXEC);
	if (gpu->lives_fd < 0) {
		err = gpu->lives_fd;
		goto err_dir;
	}
	if (flock(dir, LOCK_EX)) {
		err = -errno;
		goto err_dir;
	}
	err = map_region(dir, gpu, observe);
	if (!err && !observe)
		err = join(gpu);
	flock(dir, LOCK_UN);
	if (err)
		goto err_dir;
	close(dir);
	*ret_gpu = gpu;
	return 0;
err_dir:
	close(dir);
err_gpu:
	close_gpu(gpu);
	return err;
}

int cot_emu_gpu_attach(struct cot_emu_gpu **ret_gpu)
{
	int err = 0;

	/* Before the lock: a fork may have copied it in the hands of another thread. */
	if (atomic_load(&attached_pid) && atomic_load(&attached_pid) != getpid())
		return -EAGAIN;
	pthread_mutex_lock(&attach_lock);
	if (!attached)
		err = open_gpu(false, &attached);
	if (!err) {
		atomic_store(&attached_pid, getpid());
		*ret_gpu = attached;
	}
	pthread_mutex_unlock(&attach_lock);
	return err;
}

void cot_emu_gpu_note_memory(struct cot_emu_gpu *gpu, uint32_t index, int64_t bytes)
{
	if (gpu && gpu->client >= 0 && gpu->pid == getpid() && index < COT_EMU_MAX_GPUS)
		atomic_fetch_add(&gpu->region->memory_bytes[gpu->client][index], (uint64_t)bytes);
}

uint64_t cot_emu_gpu_memory(const struct cot_emu_gpu *gpu, uint32_t client, uint32_t index)
{
	if (client >= COT_EMU_MAX_CLIENTS || index >= COT_EMU_MAX_GPUS)
		return 0;
	return atomic_load(&gpu->region->memory_bytes[client][index]);
}

int cot_emu_gpu_observe(struct cot_emu_gpu **ret_gpu)
{
	return open_gpu(true, ret_gpu);
}

void cot_emu_gpu_detach(struct cot_emu_gpu *gpu)
{
	struct cot_emu_model *m;

	if (!gpu || gpu->pid != getpid())
		return;
	pthread_mutex_lock(&attach_lock);
	if (gpu->client >= 0 && (m = cot_emu_gpu_begin(gpu))) {
		cot_emu_model_client_drop(m, (uint32_t)gpu->client);
		cot_emu_gpu_commit(gpu, true);
	}
	if (attached == gpu) {
		attached = NULL;
		atomic_store(&attached_pid, 0);
	}
	close_gpu(gpu);
	pthread_mutex_unlock(&attach_lock);
}

uint32_t cot_emu_gpu_client(const struct cot_emu_gpu *gpu)
{
	return (uint32_t)gpu->client;
}

const struct cot_emu_config *cot_emu_gpu_config(const struct cot_emu_gpu *gpu)
{
	return &gpu->region->config;
}

/* ---- changes ---- */

/* The model that does not count, made equal to the one that does. */
static struct cot_emu_model *draft(struct region *r)
{
	uint32_t active = atomic_load_explicit(&r->active, memory_order_relaxed) & 1;

	cot_emu_model_copy(&r->models[!active], &r->models[active]);
	return &r->models[!active];
}

static void wake_all(struct region *r)
{
	atomic_fetch_add(&r->n_changes, 1);
	cot_emu_futex_wake_all(&r->n_changes);
}

struct cot_emu_model *cot_emu_gpu_begin(struct cot_emu_gpu *gpu)
{
	struct region *r = gpu->region;
	struct cot_emu_model *m;

	if (lock(r))
		return NULL;
	m = draft(r);
	cot_emu_model_advance(m, gpu_time(r, wall_ns()));
	return m;
}

void cot_emu_gpu_commit(struct cot_emu_gpu *gpu, bool sooner)
{
	publish(gpu->region);
	pthread_mutex_unlock(&gpu->region->mutex);
	if (sooner)
		wake_all(gpu->region);
}

uint64_t cot_emu_gpu_now(const struct cot_emu_gpu *gpu)
{
	return gpu_time(gpu->region, wall_ns());
}

void cot_emu_gpu_bury(struct cot_emu_gpu *gpu)
{
	struct cot_emu_model *m = cot_emu_gpu_begin(gpu);

	if (m)
		cot_emu_gpu_commit(gpu, bury_dead(gpu, m, false));
}

/* ---- waiting ---- */

/*
 * With the lock held: the wall time at which `done` will hold if no process interferes, or at which
 * to check again, `most_ns` from now at the latest.
 */
static uint64_t look_ahead(struct region *r, cot_emu_predicate done, void *arg, uint64_t most_ns)
{
	struct cot_emu_model *m = draft(r);
	uint64_t horizon = gpu_time(r, wall_ns() + most_ns), t;
	unsigned n;

	for (n = 0; n < MAX_LOOK_AHEAD; n++) {
		t = cot_emu_model_next(m);
		if (t > horizon)
			return wall_time(r, horizon);
		cot_emu_model_advance(m, t);
		if (done(m, arg))
			break;
	}
	return wall_time(r, m->now_ns);
}

/*
 * Whether work on the GPU depends on another process: others' kernels, or ours in another's group.
 */
static bool has_neighbours(const struct cot_emu_gpu *gpu, const struct cot_emu_model *m)
{
	const struct cot_emu_kernel *k;
	uint32_t i;

	for (i = 0; i < m->n_kernels; i++) {
		k = &m->kernels[i];
		if (k->serial && k->state == COT_EMU_KERNEL_QUEUED &&
		    (k->client != gpu->client ||
		     m->groups[m->channels[k->channel].group].client != gpu->client))
			return true;
	}
	return false;
}

int cot_emu_gpu_wait(struct cot_emu_gpu *gpu, cot_emu_predicate done, void *arg,
		     uint64_t timeout_ns)
{
	struct region *r = gpu->region;
	uint64_t deadline = COT_EMU_NEVER, until;
	struct cot_emu_model *m;
	uint32_t seen;
	bool neighbours, buried, over;

	if (timeout_ns != COT_EMU_NEVER)
		deadline = gpu_time(r, wall_ns()) + timeout_ns;
	for (;;) {
		m = cot_emu_gpu_begin(gpu);
		if (!m)
			return -EIO;
		neighbours = has_neighbours(gpu, m);
		buried = neighbours && bury_dead(gpu, m, true);
		over = done(m, arg);
		if (over || m->now_ns >= deadline) {
			cot_emu_gpu_commit(gpu, buried);
			return over ? 0 : -ETIMEDOUT;
		}
		publish(r);
		until = look_ahead(r, done, arg, neighbours ? NEIGHBOUR_NS : RECHECK_NS);
		if (deadline != COT_EMU_NEVER && until > wall_time(r, deadline))
			until = wall_time(r, deadline);
		seen = atomic_load(&r->n_changes) + (buried ? 1 : 0);
		pthread_mutex_unlock(&r->mutex);
		if (buried)
			wake_all(r);
		cot_emu_futex_wait(&r->n_changes, seen, until);
	}
}

void cot_emu_gpu_sleep(const struct cot_emu_gpu *gpu, uint64_t gpu_ns)
{
	uint64_t ns = (uint64_t)((cot_u128)gpu_ns * gpu->region->config.scale_milli / 1000);
	struct timespec t = {(time_t)(ns / 1000000000ull), (long)(ns % 1000000000ull)};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
}
