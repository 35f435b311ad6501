#include "daemon/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the library is installed, seen from the programs. */
#ifndef COT_LIBRARY_PLACE
#define COT_LIBRARY_PLACE "../lib/cotenant/libcotenant.so"
#endif

static int set_path(char ret_path[COT_PATH_TEXT_MAX], struct cot_error *err, const char *a,
		    const char *b, const char *c)
{
	int n = snprintf(ret_path, COT_PATH_TEXT_MAX, "%s%s%s", a, b, c);

	if (n < 0 || (unsigned)n >= COT_PATH_TEXT_MAX)
		return cot_error_set(err, -ENAMETOOLONG, "the path '%.100s%s%s' is too long", a, b,
				     c);
	return 0;
}

int cot_paths_join(char ret_path[COT_PATH_TEXT_MAX], const char *folder, const char *name,
		   struct cot_error *err)
{
	return set_path(ret_path, err, folder, "/", name);
}

/* An environment variable with an absolute path, or NULL. */
static const char *absolute(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] == '/' ? value : NULL;
}

int cot_paths_runtime(char ret_path[COT_PATH_TEXT_MAX], struct cot_error *err)
{
	const char *value = absolute("COTENANT_RUNTIME_DIR");

	if (value)
		return set_path(ret_path, err, value, "", "");
	/* An emulated machine has a daemon of its own (cotenant run --emulate). */
	value = absolute("COTENANT_EMU_DIR");
	if (value)
		return set_path(ret_path, err, value, "/run", "");
	if (geteuid() == 0)
		return set_path(ret_path, err, COT_SYSTEM_RUNTIME, "", "");
	value = absolute("XDG_RUNTIME_DIR");
	if (value)
		return set_path(ret_path, err, value, "/cotenant", "");
	value = absolute("HOME");
	if (value)
		return set_path(ret_path, err, value, "/.cache/cotenant/run", "");
	return cot_error_set(err, -ENOENT,
			     "no place for the daemon's socket: set COTENANT_RUNTIME_DIR or "
			     "XDG_RUNTIME_DIR to an absolute path");
}

bool cot_paths_is_system(const char *runtime)
{
	return geteuid() == 0 && !strcmp(runtime, COT_SYSTEM_RUNTIME);
}

int cot_paths_config(char ret_path[COT_PATH_TEXT_MAX], struct cot_error *err)
{
	const char *value;

	if (geteuid() == 0)
		return set_path(ret_path, err, "/etc/cotenant/cotenantd.conf", "", "");
	value = absolute("XDG_CONFIG_HOME");
	if (value)
		return set_path(ret_path, err, value, "/cotenant/cotenantd.conf", "");
	value = absolute("HOME");
	if (value)
		return set_path(ret_path, err, value, "/.config/cotenant/cotenantd.conf", "");
	return cot_error_set(err, -ENOENT, "neither XDG_CONFIG_HOME nor HOME is set");
}

static int make_parents(const char *path)
{
	char part[COT_PATH_TEXT_MAX];
	char *slash;

	if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part))
		return -ENAMETOOLONG;
	for (slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
			return -errno;
		*slash = '/';
	}
	return 0;
}

int cot_paths_make_private(const char *path, unsigned mode, struct cot_error *err)
{
	bool made = false;
	struct stat st;
	int rc = make_parents(path);

	if (!rc) {
		made = mkdir(path, (mode_t)mode) == 0;
		rc = made || errno == EEXIST ? 0 : -errno;
	}
	if (!rc && lstat(path, &st) < 0)
		rc = -errno;
	if (rc < 0)
		return cot_error_set(err, rc, "cannot make the folder '%s': %s", path,
				     strerror(-rc));
	if (!S_ISDIR(st.st_mode))
		return cot_error_set(err, -ENOTDIR, "'%s' is not a folder", path);
	if (st.st_uid != geteuid())
		return cot_error_set(err, -EPERM, "the folder '%s' belongs to another user", path);
	/* Restore the permissions that the umask removed, but not those that a user removed on
	 * purpose. */
	if ((made || (st.st_mode & 07777 & ~(mode_t)mode)) && chmod(path, (mode_t)mode) < 0)
		return cot_error_set(err, -EPERM, "others may use the folder '%s': %s", path,
				     strerror(errno));
	return 0;
}

/* The folder of the running program. */
static int program_folder(char ret_path[COT_PATH_TEXT_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret_path, COT_PATH_TEXT_MAX - 1);
	char *slash;

	if (n <= 0)
		return -ENOENT;
	ret_path[n] = '\0';
	slash = strrchr(ret_path, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

static int find_beside(const char *const *places, unsigned n, char ret_path[COT_PATH_TEXT_MAX])
{
	char folder[COT_PATH_TEXT_MAX], path[COT_PATH_TEXT_MAX];
	unsigned i;

	if (program_folder(folder) < 0)
		return -ENOENT;
	for (i = 0; i < n; i++) {
		char *real;

		if (cot_paths_join(path, folder, places[i], NULL) < 0 || access(path, R_OK) < 0)
			continue;
		real = realpath(path, NULL);
		if (real && strlen(real) < COT_PATH_TEXT_MAX) {
			(void)snprintf(ret_path, COT_PATH_TEXT_MAX, "%s", real);
			free(real);
			return 0;
		}
		free(real);
	}
	return -ENOENT;
}

int cot_paths_library(char ret_path[COT_PATH_TEXT_MAX], struct cot_error *err)
{
	static const char *const places[] = {
		COT_LIBRARY_PLACE,
		"../lib/cotenant/libcotenant.so",
		"../lib/libcotenant.so", /* where it is built */
		"libcotenant.so",
	};
	const char *value = getenv("COTENANT_LIBRARY");

	if (value && *value) {
		if (value[0] != '/' || access(value, R_OK) < 0)
			return cot_error_set(err, -ENOENT,
					     "COTENANT_LIBRARY is '%s'; expected the full path of "
					     "a library that can be read",
					     value);
		return set_path(ret_path, err, value, "", "");
	}
	if (find_beside(places, COT_ARRAY_LEN(places), ret_path) < 0)
		return cot_error_set(err, -ENOENT,
				     "libcotenant.so is not where this program looks for it "
				     "(../lib/cotenant beside it); set COTENANT_LIBRARY to its "
				     "full path");
	return 0;
}

/* A file in a folder beside the library, as it is installed or in the build. */
static int find_with_library(const char *name, char ret_path[COT_PATH_TEXT_MAX],
			     struct cot_error *err)
{
	static const char *const before[] = {"", "cotenant/"};
	char library[COT_PATH_TEXT_MAX], beside[COT_PATH_TEXT_MAX];
	unsigned i;
	int rc = cot_paths_library(library, err);

	if (rc < 0)
		return rc;
	*strrchr(library, '/') = '\0';
	for (i = 0; i < COT_ARRAY_LEN(before); i++) {
		(void)snprintf(beside, sizeof(beside), "%s%s", before[i], name);
		if (cot_paths_join(ret_path, library, beside, NULL) == 0 &&
		    access(ret_path, R_OK) == 0)
			return 0;
	}
	return cot_error_set(err, -ENOENT, "%s is not beside libcotenant.so in '%s'", name,
			     library);
}

int cot_paths_shim(char ret_path[COT_PATH_TEXT_MAX], struct cot_error *err)
{
	return find_with_library("shim/libcuda.so.1", ret_path, err);
}

int cot_paths_cpu(const char *name, char ret_path[COT_PATH_TEXT_MAX], struct cot_error *err)
{
	char file[COT_PATH_TEXT_MAX];

	(void)snprintf(file, sizeof(file), "cpu/lib%s.so", name);
	return find_with_library(file, ret_path, err);
}

int cot_paths_daemon(char ret_path[COT_PATH_TEXT_MAX], struct cot_error *err)
{
	static const char *const places[] = {"cotenantd", "../sbin/cotenantd"};

	if (find_beside(places, COT_ARRAY_LEN(places), ret_path) == 0)
		return 0;
	if (cot_paths_program("cotenantd", ret_path))
		return 0;
	return cot_error_set(err, -ENOENT, "cotenantd is neither beside this program nor in PATH");
}

int cot_paths_backend(char ret_path[COT_PATH_TEXT_MAX], struct cot_error *err)
{
	static const char *const places[] = {"cotenant-backend"};

	if (find_beside(places, COT_ARRAY_LEN(places), ret_path) == 0 ||
	    cot_paths_program("cotenant-backend", ret_path))
		return 0;
	return cot_error_set(err, -ENOENT,
			     "cotenant-backend is neither beside this program nor in PATH");
}

bool cot_paths_program(const char *name, char ret_path[COT_PATH_TEXT_MAX])
{
	const char *path = getenv("PATH"), *end;

	if (strchr(name, '/'))
		return access(name, X_OK) == 0 && set_path(ret_path, NULL, name, "", "") == 0;
	if (!path)
		path = "/bin:/usr/bin";
	for (;; path = end + 1) {
		int n;

		end = strchrnul(path, ':');
		/* An empty entry is the current folder. */
		n = snprintf(ret_path, COT_PATH_TEXT_MAX, "%.*s%s%s", (int)(end - path), path,
			     end == path ? "" : "/", name);
		if (n > 0 && (unsigned)n < COT_PATH_TEXT_MAX && access(ret_path, X_OK) == 0)
			return true;
		if (!*end)
			return false;
	}
}
