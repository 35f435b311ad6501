#include "cli/emulate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/words.h"
#include "daemon/paths.h"
#include "emu/gpu/devices.h"
#include "text/nearest.h"
#include "text/number.h"

#define DRIVER	    "libcuda.so.1"
#define MPS_CONTROL "nvidia-cuda-mps-control"
#define NVML	    "libnvidia-ml.so.1"
/* A machine's daemon and pools get a second to end, in ten tries, before they are killed. */
#define POLITE_TRIES 10
#define TRIES	     100
#define ENVIRON_MAX  (256u << 10)

static int refuse(struct cot_error *err, const char *what, const char *value, const char *expected)
{
	return cot_error_set(err, -EINVAL, "%s is '%s'; expected %s", what, value, expected);
}

/* Are all words of the list, with commas, among the known ones? */
static bool checks_valid(const char *list)
{
	size_t n;

	do {
		n = strcspn(list, ",");
		if (!(n == 5 && !strncmp(list, "races", n)) &&
		    !(n == 7 && !strncmp(list, "aligned", n)))
			return false;
		list += n;
	} while (*list++);
	return true;
}

#define COMMA ,

static const char *const devices[] = {COT_EMU_DEVICE_WORDS(COMMA)};

static int check(const struct cot_emulate *e, struct cot_error *err)
{
	char hint[COT_NEAREST_HINT_MAX];
	uint64_t seed;
	unsigned device;

	if (!cot_word_read(e->device, devices, COT_ARRAY_LEN(devices), &device))
		return cot_error_set(
			err, -EINVAL, "the GPU to emulate is '%s'%s; expected %s", e->device,
			cot_nearest_of(e->device, devices, COT_ARRAY_LEN(devices), hint),
			COT_EMU_DEVICE_WORDS(" or "));
	if (e->seed && !cot_number_u64(e->seed, &seed))
		return refuse(err, "the seed", e->seed, "a whole number");
	if (e->checks && !checks_valid(e->checks))
		return refuse(err, "the list of checks", e->checks, "races, aligned, or both");
	return 0;
}

/* The folder `emu` beside the library. */
static int find_files(char ret_folder[COT_PATH_TEXT_MAX], struct cot_error *err)
{
	char library[COT_PATH_TEXT_MAX], driver[COT_PATH_TEXT_MAX];
	int rc = cot_paths_library(library, err);
	char *slash;

	if (rc < 0)
		return rc;
	slash = strrchr(library, '/');
	if (!slash)
		return cot_error_set(err, -ENOENT, "the library's path '%s' has no folder",
				     library);
	*slash = '\0';
	rc = cot_paths_join(ret_folder, library, "emu", err);
	if (!rc)
		rc = cot_paths_join(driver, ret_folder, DRIVER, err);
	if (rc < 0)
		return rc;
	if (access(driver, R_OK))
		return cot_error_set(
			err, -ENOENT,
			"there is no emulated driver '%s': expected the package cotenant-emu",
			driver);
	if (strpbrk(driver, " :"))
		return cot_error_set(err, -EINVAL,
				     "the path '%s' has a space or a colon, which the dynamic "
				     "linker takes for the end of it",
				     driver);
	return 0;
}

/* Puts a value in front of those of a variable that lists paths. */
static int put_before(const char *name, const char *value)
{
	const char *others = getenv(name);
	char *list = NULL;
	int rc;

	if (others && !*others)
		others = NULL;
	if (asprintf(&list, "%s%s%s", value, others ? ":" : "", others ? others : "") < 0)
		return -ENOMEM;
	rc = setenv(name, list, 1) ? -errno : 0;
	free(list);
	return rc;
}

static int set_default(const char *name, const char *value)
{
	return setenv(name, value, 0) ? -errno : 0;
}

static int set_path(const char *name, const char *folder, const char *file, struct cot_error *err)
{
	char path[COT_PATH_TEXT_MAX];
	int rc = cot_paths_join(path, folder, file, err);

	return rc ? rc : set_default(name, path);
}

/* ---- a machine of the program's own ---- */

/* Files, and one level of folders with files: what a machine and its daemon leave. */
static void remove_folder(const char *path, int depth)
{
	DIR *dir = opendir(path);
	char inner[COT_PATH_TEXT_MAX];
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (unlinkat(dirfd(dir), entry->d_name, 0) && errno == EISDIR && depth &&
		    !cot_paths_join(inner, path, entry->d_name, NULL))
			remove_folder(inner, depth - 1);
	}
	if (dir)
		closedir(dir);
	(void)rmdir(path);
}

static bool is_server(const char *pid)
{
	static const char *const names[] = {"/cotenantd", "/nvidia-cuda-mps-"};
	char path[COT_PATH_TEXT_MAX], program[COT_PATH_TEXT_MAX];
	const char *slash;
	unsigned i;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/exe", pid);
	n = readlink(path, program, sizeof(program) - 1);
	program[n > 0 ? n : 0] = '\0';
	slash = strrchr(program, '/');
	for (i = 0; slash && i < COT_ARRAY_LEN(names); i++)
		if (!strncmp(slash, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool has_variable(const char *pid, const char *variable)
{
	static char block[ENVIRON_MAX];
	char path[COT_PATH_TEXT_MAX];
	size_t n, at;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(block, 1, sizeof(block) - 1, f);
	(void)fclose(f);
	block[n] = '\0';
	for (at = 0; at < n; at += strlen(block + at) + 1)
		if (!strcmp(block + at, variable))
			return true;
	return false;
}

/* The daemon and the MPS programs of the machine. Returns how many there were. */
static unsigned end_servers(const char *folder, int signal)
{
	char variable[COT_PATH_TEXT_MAX];
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	unsigned n = 0;

	(void)snprintf(variable, sizeof(variable), "COTENANT_EMU_DIR=%s", folder);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || !is_server(entry->d_name) ||
		    !has_variable(entry->d_name, variable))
			continue;
		(void)kill((pid_t)strtol(entry->d_name, NULL, 10), signal);
		n++;
	}
	if (dir)
		(void)closedir(dir);
	return n;
}

/* Runs in a process that is not the program's child: the program must not find it when it waits for
 * its own. Those who would use the folder end first; the second SIGTERM ends a daemon at once. */
static void clean_up_after(int pidfd, const char *folder)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	struct timespec pause = {0, 100 * 1000 * 1000};
	int i;

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	for (i = 0; i < TRIES; i++) {
		if (!end_servers(folder, i < POLITE_TRIES ? SIGTERM : SIGKILL)) {
			remove_folder(folder, 4);
			if (access(folder, F_OK))
				return;
		}
		(void)nanosleep(&pause, NULL);
	}
}

static void become_cleaner(int pidfd, const char *folder)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	int fd, null = open("/dev/null", O_RDWR);

	(void)setsid();
	(void)sigaction(SIGINT, &ignore, NULL);
	(void)sigaction(SIGHUP, &ignore, NULL);
	/* A reader of the program's output must see its end. */
	for (fd = 0; fd < 3; fd++)
		(void)dup2(null, fd);
	if (fork() == 0)
		clean_up_after(pidfd, folder);
	_exit(0);
}

static int start_cleaner(const char *folder)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	pid_t pid;

	if (pidfd < 0)
		return -errno;
	pid = fork();
	if (!pid)
		become_cleaner(pidfd, folder);
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	(void)close(pidfd);
	return pid < 0 ? -errno : 0;
}

static int make_machine(struct cot_error *err)
{
	const char *base = access("/dev/shm", W_OK) ? P_tmpdir : "/dev/shm";
	char folder[COT_PATH_TEXT_MAX];
	int rc;

	(void)snprintf(folder, sizeof(folder), "%s/cotenant-emu-XXXXXX", base);
	if (!mkdtemp(folder))
		return cot_error_set(err, -errno, "cannot make a folder in %s: %s", base,
				     strerror(errno));
	rc = setenv("COTENANT_EMU_DIR", folder, 1) ? -errno : start_cleaner(folder);
	if (rc < 0) {
		(void)rmdir(folder);
		return cot_error_set(err, rc, "cannot watch over %s: %s", folder, strerror(-rc));
	}
	return 0;
}

bool cot_emulate_is_shared(void)
{
	const char *folder = getenv("COTENANT_EMU_DIR");

	return folder && *folder;
}

/* ---- all together ---- */

/* The daemon of this machine, and what it needs; the user's own daemon is for real GPUs. */
static int set_up_daemon(const char *files, struct cot_error *err)
{
	const char *folder = getenv("COTENANT_EMU_DIR"), *n = getenv("COTENANT_EMU_GPUS");
	int rc = 0;

	if (!getenv("COTENANT_SOCKET"))
		rc = set_path("COTENANT_RUNTIME_DIR", folder, "run", err);
	if (!rc)
		rc = set_path("COTENANT_MPS_CONTROL", files, MPS_CONTROL, err);
	if (!rc)
		rc = set_path("COTENANT_NVML", files, NVML, err);
	return rc ? rc : set_default("COTENANT_GPUS", n && *n ? n : "1");
}

static int set_options(const struct cot_emulate *e)
{
	int rc = setenv("COTENANT_EMU_DEVICE", e->device, 1) ? -errno : 0;
	char model[64];

	(void)snprintf(model, sizeof(model), "%s, emulated", e->device);
	if (!rc)
		rc = set_default("COTENANT_GPU_MODEL", model);
	if (!rc && e->seed)
		rc = setenv("COTENANT_EMU_SEED", e->seed, 1) ? -errno : 0;
	if (!rc && e->checks)
		rc = setenv("COTENANT_EMU_CHECK", e->checks, 1) ? -errno : 0;
	return rc;
}

/* A machine that ends with its program can have no daemon that outlives it. */
static int check_own(struct cot_error *err)
{
	static const char *const names[] = {"COTENANT_RUNTIME_DIR", "COTENANT_SOCKET"};
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(names); i++)
		if (getenv(names[i]))
			return cot_error_set(
				err, -EINVAL,
				"%s names a daemon that others share, but without "
				"COTENANT_EMU_DIR this program has an emulated GPU of its own; set "
				"COTENANT_EMU_DIR to a folder for all of them, or unset %s",
				names[i], names[i]);
	return 0;
}

int cot_emulate_set_up(const struct cot_emulate *e, bool controlled, struct cot_error *err)
{
	char files[COT_PATH_TEXT_MAX], driver[COT_PATH_TEXT_MAX];
	int rc = check(e, err);

	if (!rc)
		rc = find_files(files, err);
	if (!rc)
		rc = cot_paths_join(driver, files, DRIVER, err);
	if (rc < 0)
		return rc;
	if (!cot_emulate_is_shared()) {
		if (controlled)
			rc = check_own(err);
		if (!rc)
			rc = make_machine(err);
	}
	if (!rc && controlled)
		rc = set_up_daemon(files, err);
	if (rc < 0)
		return rc;
	rc = set_options(e);
	/* Preloaded it also serves programs that have a path to a driver built in. */
	if (!rc)
		rc = put_before("LD_PRELOAD", driver);
	if (!rc)
		rc = put_before("LD_LIBRARY_PATH", files);
	return rc ? cot_error_set(err, rc, "cannot set the environment: %s", strerror(-rc)) : 0;
}
