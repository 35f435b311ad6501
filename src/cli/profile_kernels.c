/*
 * Kernels of a program that is profiled, one by one: the library in it writes how long each launch
 * took into a mapping that both have (proto/timed.h). The program finds it below our own folder in
 * /proc, so nothing is left of it when we end, however that is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/common.h"
#include "cli/profile.h"
#include "knowledge/launches.h"

#define LOOKS_A_S 10u /* cot_profile_pause() */
#define ENOUGH	  2048u
#define LAST	  1u /* looks, for launches that were under way */

_Static_assert(COT_KNOWN_QUOTAS_MAX <= COT_TIMED_ROUNDS, "a round for each size of part");
_Static_assert(COT_TIMED_KERNELS <= COT_KNOWN_KERNELS_MAX, "a file has room for them");
_Static_assert(COT_TIMED_NAME_MAX <= COT_KNOWN_NAME_MAX, "and for their names");
_Static_assert(COT_TIMED_NS_MAX <= COT_KNOWN_NS_MAX, "and for their times");

/* ---- the mapping ---- */

/* It never becomes smaller: reading what is not there any longer would end us. */
static int make_file(void)
{
	int fd = memfd_create("cotenant-timed", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	if (!ftruncate(fd, (off_t)sizeof(struct cot_timed)) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	(void)close(fd);
	return -1;
}

void cot_profile_kernels_open(struct cot_profile_run *run)
{
	void *at;

	run->timed = NULL;
	run->timed_fd = make_file();
	if (run->timed_fd < 0)
		return;
	at = mmap(NULL, sizeof(*run->timed), PROT_READ | PROT_WRITE, MAP_SHARED, run->timed_fd, 0);
	if (at == MAP_FAILED)
		return;
	run->timed = at;
	run->timed->magic = COT_TIMED_MAGIC;
}

void cot_profile_kernels_name(const struct cot_profile_run *run)
{
	char path[COT_TIMED_PATH_MAX];

	if (!run->timed)
		return;
	(void)snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getppid(), run->timed_fd);
	(void)setenv("COTENANT_TIMED", path, 1);
}

void cot_profile_kernels_close(struct cot_profile_run *run)
{
	if (run->timed)
		(void)munmap(run->timed, sizeof(*run->timed));
	if (run->timed_fd > 0)
		(void)close(run->timed_fd);
	run->timed = NULL;
	run->timed_fd = 0;
}

/* ---- rounds ---- */

static bool pause_a_look(void)
{
	cot_profile_pause();
	return !cot_cli_interrupted();
}

bool cot_profile_kernels_measure(const struct cot_profile_run *run, uint32_t x, uint32_t seconds)
{
	bool goes_on = true;
	uint32_t i;

	if (!run->timed || !seconds)
		return true;
	atomic_store(&run->timed->on, x + 1);
	for (i = 0;
	     i < seconds * LOOKS_A_S && goes_on && cot_timed_count(run->timed, x + 1) < ENOUGH; i++)
		goes_on = pause_a_look();
	atomic_store(&run->timed->on, 0);
	for (i = 0; i < LAST && goes_on; i++)
		goes_on = pause_a_look();
	return goes_on;
}

/* ---- what was measured ---- */

/* What is read of the mapping, as knowledge takes it. */
struct taken {
	char names[COT_TIMED_KERNELS][COT_KNOWN_NAME_MAX];
	struct cot_known_launch launches[COT_KNOWN_QUOTAS_MAX][COT_TIMED_LAUNCHES];
	struct cot_timed_launch buffer[COT_TIMED_LAUNCHES];
	struct cot_known_launches all;
};

static void read_round(const struct cot_timed *t, struct taken *to, uint32_t x)
{
	uint32_t n = cot_timed_read(t, x + 1, to->buffer, COT_TIMED_LAUNCHES), i;

	for (i = 0; i < n; i++)
		to->launches[x][i] = (struct cot_known_launch){
			.ns = to->buffer[i].ns,
			.kernel = to->buffer[i].kernel,
			.first = to->buffer[i].flags & COT_TIMED_FIRST,
			.gap = to->buffer[i].flags & COT_TIMED_GAP,
		};
	to->all.n[x] = n;
	to->all.at[x] = to->launches[x];
}

/* Kernels last: there are never fewer than what was read names. */
static void read_all(const struct cot_timed *t, struct taken *to, uint32_t n_quotas)
{
	uint32_t i;

	for (i = 0; i < n_quotas; i++)
		read_round(t, to, i);
	to->all.n_kernels = cot_timed_n_kernels(t);
	to->all.names = (const char(*)[COT_KNOWN_NAME_MAX])to->names;
	for (i = 0; i < to->all.n_kernels; i++)
		cot_timed_name(t, i, to->names[i]);
}

static const char *why_not(int rc, const struct taken *t, uint32_t n_quotas)
{
	uint32_t i;

	for (i = 0; i < n_quotas; i++)
		if (rc == -ENODATA && !t->all.n[i])
			return "the library in the program timed none";
	if (rc == -ENODATA)
		return "no half of its requests run the same kernels, or there were too few of "
		       "them";
	return rc == -ENOSPC ? "there are more of them than a file may have" : "out of memory";
}

const char *cot_profile_kernels_take(const struct cot_profile_run *run, struct cot_knowledge *k,
				     struct cot_known_input *in)
{
	struct taken *t;
	const char *why = NULL;
	int rc;

	if (!run->timed)
		return "no memory can be shared with the program";
	t = calloc(1, sizeof(*t));
	if (!t)
		return "out of memory";
	read_all(run->timed, t, k->n_quotas);
	rc = in ? cot_knowledge_take_tasks(k, in, &t->all) : cot_knowledge_take_longest(k, &t->all);
	if (rc)
		why = why_not(rc, t, k->n_quotas);
	free(t);
	return why;
}
