#include "cli/run_cpu.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/paths.h"
#include "model/consolidate.h"
#include "model/launch.h"
#include "proto/proto.h"
#include "trace/kernels.h"

#define BLOCKS_MAX 65536u /* what takes less on the CPU with so many is looked at no further */

struct list {
	char text[COT_CPU_UPTO_MAX];
	size_t n;
};

/* -ENOSPC: the library in the program reads no more. */
static int add(struct list *l, const char *what, const char *between, size_t room)
{
	int n = snprintf(l->text + l->n, room - l->n, "%s%s", l->n ? between : "", what);

	if (n < 0 || (size_t)n >= room - l->n)
		return -ENOSPC;
	l->n += (size_t)n;
	return 0;
}

/* ---- libraries ---- */

static int find_library(const char *name, char *ret_path, struct cot_error *err)
{
	char path[COT_PATH_TEXT_MAX], *real;

	if (!strchr(name, '/'))
		return cot_paths_cpu(name, ret_path, err);
	/* The program may be in another folder when it launches its first kernel. */
	real = realpath(name, NULL);
	if (!real || access(real, R_OK) || strlen(real) >= sizeof(path)) {
		free(real);
		return cot_error_set(err, -ENOENT, "cannot read the library '%.300s' of --cpu",
				     name);
	}
	(void)snprintf(ret_path, COT_PATH_TEXT_MAX, "%s", real);
	free(real);
	if (strchr(ret_path, ':'))
		return cot_error_set(err, -EINVAL,
				     "the path '%s' has a colon; expected one without", ret_path);
	return 0;
}

static int set_libraries(const char *names, struct cot_error *err)
{
	char name[COT_PATH_TEXT_MAX], path[COT_PATH_TEXT_MAX];
	struct list list = {.n = 0};
	size_t n;
	int rc;

	do {
		n = strcspn(names, ",");
		if (!n || n >= sizeof(name))
			return cot_error_set(
				err, -EINVAL,
				"--cpu has an empty or too long name; expected "
				"kernels, interpreter, or paths of libraries, with commas between");
		(void)snprintf(name, sizeof(name), "%.*s", (int)n, names);
		rc = find_library(name, path, err);
		if (rc)
			return rc;
		if (add(&list, path, ":", COT_CPU_LIST_MAX))
			return cot_error_set(err, -EINVAL, "--cpu names too many libraries");
		names += n;
	} while (*names++ == ',');
	return setenv("COTENANT_CPU", list.text, 1) < 0 ? -errno : 0;
}

/* ---- the decision ---- */

static int decide(const struct cot_kernels *file, uint32_t i, enum cot_model_aim aim,
		  struct list *list, struct cot_error *err)
{
	const struct cot_model_machine machine = {.gpu = file->gpu, .power = file->power};
	struct cot_model_kernel k = file->kernels[i];
	char entry[COT_NAME_MAX + 32];
	uint32_t blocks;
	int rc = cot_model_calibrate(&machine.gpu, &k);

	if (!rc)
		rc = cot_model_cpu_up_to(&machine, &k, aim, BLOCKS_MAX, &blocks);

	if (rc)
		return cot_error_set(err, rc,
				     "a thread block of '%s' does not fit on an SM of the GPU",
				     file->names[i]);
	if (strpbrk(file->names[i], "/,="))
		return cot_error_set(err, -EINVAL,
				     "'%s' is no kernel's name; expected one as in its PTX",
				     file->names[i]);
	(void)snprintf(entry, sizeof(entry), "%s/%u=%u", file->names[i], k.threads_per_block,
		       blocks == BLOCKS_MAX ? UINT_MAX : blocks);
	if (add(list, entry, ",", sizeof(list->text)))
		return cot_error_set(err, -EINVAL,
				     "the names of the kernels are too long together");
	return 0;
}

static int set_decision(const char *path, enum cot_model_aim aim, struct cot_error *err)
{
	struct cot_kernels *file = malloc(sizeof(*file));
	struct list list = {.n = 0};
	uint32_t i;
	int rc = file ? cot_kernels_read(path, file, err)
		      : cot_error_set(err, -ENOMEM, "out of memory");

	if (!rc && aim == COT_MODEL_ENERGY && !file->has_power)
		rc = cot_error_set(err, -EINVAL,
				   "%s:1:1: the key 'power' is missing; --cpu-by energy needs it, "
				   "--cpu-by time does not",
				   path);
	for (i = 0; !rc && i < file->n; i++)
		rc = decide(file, i, aim, &list, err);
	free(file);
	if (rc)
		return rc;
	return setenv("COTENANT_CPU_UPTO", list.text, 1) < 0 ? -errno : 0;
}

int cot_run_cpu_set_up(const struct cot_run_cpu *c, struct cot_error *err)
{
	bool by_time = c->aim && strcmp(c->aim, "time") == 0;
	bool by_policy = c->aim && strcmp(c->aim, "policy") == 0;
	int rc;

	if (!c->libraries)
		return c->kernels || c->aim ? cot_error_set(err, -EINVAL,
							    "--cpu-kernels and --cpu-by need --cpu")
					    : 0;
	if (c->aim && !by_time && !by_policy && strcmp(c->aim, "energy") != 0)
		return cot_error_set(err, -EINVAL,
				     "--cpu-by is '%.40s'; expected energy, time or policy",
				     c->aim);
	if (c->aim && !by_policy && !c->kernels)
		return cot_error_set(err, -EINVAL, "--cpu-by %s needs --cpu-kernels", c->aim);
	if (by_policy && c->kernels)
		return cot_error_set(err, -EINVAL,
				     "--cpu-by policy lets the daemon decide; expected it without "
				     "--cpu-kernels");
	rc = set_libraries(c->libraries, err);
	if (!rc && c->kernels)
		rc = set_decision(c->kernels, by_time ? COT_MODEL_TIME : COT_MODEL_ENERGY, err);
	else if (!rc)
		(void)unsetenv("COTENANT_CPU_UPTO"); /* another program's */
	if (!rc && by_policy)
		rc = setenv("COTENANT_CPU_BY", "policy", 1) < 0 ? -errno : 0;
	else if (!rc)
		(void)unsetenv("COTENANT_CPU_BY");
	return rc;
}
