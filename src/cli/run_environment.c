#include "cli/run_environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common.h"
#include "daemon/paths.h"

int cot_run_take_environment(const struct cot_msg_registered *m, bool own_gpu)
{
	const char *entry = m->env, *end = (const char *)m + m->h.length;
	unsigned kind;

	for (kind = COT_TARGET_P99; kind <= COT_TARGET_RATE; kind++)
		(void)unsetenv(cot_run_target_variables[kind]); /* another program's */
	for (; entry < end; entry += strlen(entry) + 1) {
		const char *equals = strchr(entry, '=');
		char key[64];

		if (!equals || equals == entry || (size_t)(equals - entry) >= sizeof(key))
			continue;
		(void)snprintf(key, sizeof(key), "%.*s", (int)(equals - entry), entry);
		if (own_gpu && !strcmp(key, "CUDA_VISIBLE_DEVICES"))
			continue;
		if (!strcmp(key, "COTENANT_NOTE"))
			cot_cli_complain("%s", equals + 1);
		else if (setenv(key, equals + 1, 1) < 0)
			return -errno;
	}
	return 0;
}

bool cot_run_has_variable(const struct cot_msg_registered *m, const char *name)
{
	const char *entry = m->env, *end = (const char *)m + m->h.length;
	size_t n = strlen(name);

	for (; entry < end; entry += strlen(entry) + 1)
		if (!strncmp(entry, name, n) && entry[n] == '=')
			return true;
	return false;
}

/* Whether the daemon says that the program can be put on a part of the GPU: also without a share of
 * its own, where the policy deals out parts; or that it is measured. */
static bool needs_shim(const struct cot_msg_registered *m)
{
	return cot_run_has_variable(m, "COTENANT_PARTS") ||
	       cot_run_has_variable(m, "COTENANT_REQUESTS");
}

/* Is it one of the list's entries? */
static bool is_listed(const char *list, const char *path)
{
	size_t n;

	for (; *list; list += n + !!list[n]) {
		n = strcspn(list, " :");
		if (n == strlen(path) && !strncmp(list, path, n))
			return true;
	}
	return false;
}

/* Before what the variable says already, unless it is in there. */
static int put_first(const char *name, const char *path, struct cot_error *err)
{
	const char *others = cot_run_variable(name);
	char *value = NULL;
	int rc;

	if (strpbrk(path, " :"))
		return cot_error_set(err, -EINVAL,
				     "the library's path '%s' has a space or a colon, which the "
				     "dynamic linker takes for the end of it",
				     path);
	if (others && is_listed(others, path))
		return 0;
	if (asprintf(&value, "%s%s%s", path, others ? ":" : "", others ? others : "") < 0)
		return cot_error_set(err, -ENOMEM, "out of memory");
	rc = setenv(name, value, 1) < 0 ? -errno : 0;
	free(value);
	return rc;
}

static int preload_library(struct cot_error *err)
{
	char library[COT_PATH_TEXT_MAX];
	int rc = cot_paths_library(library, err);

	return rc < 0 ? rc : put_first("LD_PRELOAD", library, err);
}

/* The shim has the driver's name, so that programs that look for the driver find it: preloaded for
 * programs that have it linked or look it up by name, first in the path for the others. */
static int preload_shim(const struct cot_run_options *o, struct cot_error *err)
{
	char shim[COT_PATH_TEXT_MAX];
	int rc = cot_paths_shim(shim, err);

	if (!rc)
		rc = put_first("LD_PRELOAD", shim, err);
	if (rc < 0)
		return rc;
	*strrchr(shim, '/') = '\0';
	rc = put_first("LD_LIBRARY_PATH", shim, err);
	if (!rc && o->rewrite && setenv("COTENANT_SHIM", "1", 1) < 0)
		rc = -errno;
	if (!rc && o->merge && !cot_run_is_yes("COTENANT_MERGE") &&
	    setenv("COTENANT_MERGE", "1", 1) < 0)
		rc = -errno;
	if (!rc && o->no_store && setenv("COTENANT_MERGE_STORE", "0", 1) < 0)
		rc = -errno;
	return rc;
}

int cot_run_preload(const struct cot_run_options *o, const struct cot_msg_registered *m,
		    struct cot_error *err)
{
	int rc = preload_library(err);

	if (!rc && (o->rewrite || o->merge || o->backend.name || needs_shim(m)))
		rc = preload_shim(o, err);
	return rc;
}
