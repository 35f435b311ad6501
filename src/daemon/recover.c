/*
 * When the file of state.c is lost: finds the pools and programs of the daemon before this one by
 * what their processes have in their environment. A pool whose socket is taken from it, by a second
 * control program in the same folder, would have no way to hear of new programs, and its programs
 * could not be told from others.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/found.h"

#define MAX_PROCESSES 1024u
#define ENVIRON_MAX   (256u << 10)

struct process {
	pid_t pid, parent;
	uid_t uid;
	gid_t gid;
	struct cot_found found;
};

struct processes {
	struct process p[MAX_PROCESSES];
	unsigned n;
};

static bool read_process(const struct daemon *d, pid_t pid, char *block, struct process *ret)
{
	char path[64];
	struct stat st;
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(block, 1, ENVIRON_MAX, f);
	*ret = (struct process){.pid = pid, .parent = cot_process_parent(pid)};
	if (fstat(fileno(f), &st) < 0)
		n = 0;
	(void)fclose(f);
	ret->uid = st.st_uid;
	ret->gid = st.st_gid;
	return n && cot_found_parse(block, n, d->socket_path, &ret->found);
}

static void read_all(const struct daemon *d, struct processes *all)
{
	char *block = malloc(ENVIRON_MAX), *end;
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	long pid;

	while (dir && block && all->n < MAX_PROCESSES && (entry = readdir(dir))) {
		pid = strtol(entry->d_name, &end, 10);
		if (*end || pid <= 0 || pid == (long)getpid())
			continue;
		all->n += read_process(d, (pid_t)pid, block, &all->p[all->n]);
	}
	if (dir)
		(void)closedir(dir);
	free(block);
}

/* Nobody above it is the same program or pool. */
static bool is_root(const struct processes *all, const struct process *p)
{
	unsigned i;

	for (i = 0; i < all->n; i++)
		if (all->p[i].pid == p->parent && all->p[i].found.id == p->found.id &&
		    all->p[i].found.is_pool == p->found.is_pool)
			return false;
	return true;
}

static void recover_pool(struct daemon *d, const struct process *p)
{
	uint64_t gpus = cot_gpus_mask(&d->gpus, p->found.gpu);
	struct pool *pool;

	if (!gpus || (gpus & (gpus - 1)) || (p->uid != geteuid() && p->uid != 0) ||
	    cot_pool_find(d, p->found.id))
		return;
	d->next_id = p->found.id; /* its servers know it by this number */
	pool = cot_pool_get(d, p->found.cls, p->found.shared, (unsigned)__builtin_ctzll(gpus));
	if (pool && pool->id == p->found.id)
		cot_pool_adopt(pool, p->pid, cot_process_start_time(p->pid));
}

static struct pool *pool_with_pipe(struct daemon *d, const char *pipe)
{
	unsigned i;

	for (i = 0; i < MAX_POOLS; i++)
		if (d->pools[i].id && d->pools[i].state != POOL_DOWN &&
		    !strcmp(d->pools[i].pipe, pipe))
			return &d->pools[i];
	return NULL;
}

/* An environment is its owner's to write: it may claim what the owner may. */
static bool may_be(struct daemon *d, const struct process *p)
{
	struct conn owner = {.d = d, .source = {.fd = -1}, .uid = p->uid, .gid = p->gid};
	struct cot_error err;

	return cot_access_claim(&owner, p->found.cls, p->found.weight, &err) == 0;
}

static void recover_tenant(struct daemon *d, const struct process *p)
{
	const struct cot_found *f = &p->found;
	struct tenant *t;

	if (cot_tenant_find(d, f->id) || cot_pool_find(d, f->id) || !may_be(d, p))
		return;
	t = cot_tenant_new(d, f->id, p->pid);
	if (!t)
		return;
	if (!t->watch.pid) { /* it has ended meanwhile */
		*t = (struct tenant){0};
		return;
	}
	t->cls = f->cls;
	t->weight = f->weight;
	t->block_us = f->block_us;
	t->quota = f->quota;
	t->reserve = f->reserve;
	t->uid = p->uid;
	t->gpu_mask = cot_gpus_mask(&d->gpus, f->gpu);
	if (!t->gpu_mask)
		t->gpu_mask = 1;
	t->pool = pool_with_pipe(d, f->pipe);
	t->solo = !t->pool;
	cot_tenant_set_name(t, f->name);
	cot_tenant_announce(t);
	log_info("found program '%s' (id %u, process %d) in %s", t->name, t->id, (int)p->pid,
		 t->pool ? "a pool" : "no pool");
}

void cot_state_recover(struct daemon *d)
{
	struct processes *all = calloc(1, sizeof(*all));
	unsigned i;

	if (!all)
		return;
	read_all(d, all);
	for (i = 0; i < all->n; i++)
		if (all->p[i].found.is_pool && is_root(all, &all->p[i]))
			recover_pool(d, &all->p[i]);
	for (i = 0; i < all->n; i++)
		if (!all->p[i].found.is_pool && is_root(all, &all->p[i]))
			recover_tenant(d, &all->p[i]);
	free(all);
}
