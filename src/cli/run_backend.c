#include "cli/run_backend.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/paths.h"

#define NAME_CHARS                                             \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789_.-"
#define NAME_LONGEST 32u
#define STATUS_THERE 4 /* of cotenant-backend: another one has the socket */
#define FDS_MAX	     1024
#define START_MS     30000 /* until its context is there */
#define LOOK_MS	     5

static int copy_variable(const char *name, char **ret)
{
	const char *value = getenv(name);

	*ret = value ? strdup(value) : NULL;
	return value && !*ret ? -ENOMEM : 0;
}

int cot_run_backend_prepare(struct cot_run_backend *b, struct cot_error *err)
{
	size_t n;

	if (!b->name)
		return 0;
	n = strlen(b->name);
	if (!n || n > NAME_LONGEST || strspn(b->name, NAME_CHARS) != n || b->name[0] == '.')
		return cot_error_set(err, -EINVAL,
				     "the backend is '%.80s'; expected a name of at most %u "
				     "letters, digits, or _ . -",
				     b->name, NAME_LONGEST);
	if (copy_variable("LD_PRELOAD", &b->preload) || copy_variable("LD_LIBRARY_PATH", &b->path))
		return cot_error_set(err, -ENOMEM, "out of memory");
	return 0;
}

static void put_back(const char *name, const char *value)
{
	if (value)
		(void)setenv(name, value, 1);
	else
		(void)unsetenv(name);
}

struct paths {
	char program[COT_PATH_TEXT_MAX], socket[COT_PATH_TEXT_MAX], log[COT_PATH_TEXT_MAX];
};

static int find(const char *name, struct paths *p, struct cot_error *err)
{
	char runtime[COT_PATH_TEXT_MAX], file[NAME_LONGEST + 32];
	int rc = cot_paths_backend(p->program, err);

	if (!rc)
		rc = cot_paths_runtime(runtime, err);
	if (!rc)
		rc = cot_paths_make_private(runtime, 0700, err);
	(void)snprintf(file, sizeof(file), "backend-%s.sock", name);
	if (!rc)
		rc = cot_paths_join(p->socket, runtime, file, err);
	(void)snprintf(file, sizeof(file), "backend-%s.log", name);
	if (!rc)
		rc = cot_paths_join(p->log, runtime, file, err);
	return rc;
}

/* In the child: not the program's libraries, and nothing of what it has open. It is none of its
 * processes: else the program would be there for as long as the backend. */
static void become(const struct cot_run_backend *b, const struct paths *p)
{
	const char *window = getenv("COTENANT_MERGE_US"), *merge = getenv("COTENANT_MERGE");
	const char *argv[12] = {p->program, "--detach", "--socket", p->socket, "--log", p->log};
	int n = 6, fd;

	put_back("LD_PRELOAD", b->preload);
	put_back("LD_LIBRARY_PATH", b->path);
	put_back("COTENANT_TENANT", NULL);
	if (window && *window) {
		argv[n++] = "--window";
		argv[n++] = window;
	}
	if (merge && !strcmp(merge, "always"))
		argv[n++] = "--always";
	for (fd = 3; fd < FDS_MAX; fd++)
		close(fd);
	(void)execv(p->program, (char *const *)(uintptr_t)argv);
	_exit(1);
}

/* Its parent ends when it is ready. */
static int wait_until_ready(pid_t child, const struct paths *p, struct cot_error *err)
{
	const struct timespec pause = {0, LOOK_MS * 1000000};
	int status = 0, waited;
	pid_t ended = 0;

	for (waited = 0; !ended && waited < START_MS; waited += LOOK_MS) {
		ended = waitpid(child, &status, WNOHANG);
		if (!ended)
			(void)nanosleep(&pause, NULL);
	}
	if (!ended) {
		(void)kill(child, SIGKILL);
		(void)waitpid(child, &status, 0);
		return cot_error_set(err, -ETIMEDOUT, "the backend was not ready after %d s",
				     START_MS / 1000);
	}
	if (ended == child && WIFEXITED(status) &&
	    (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == STATUS_THERE))
		return 0;
	return cot_error_set(err, -ECHILD, "the backend did not start; %s says why", p->log);
}

int cot_run_backend_start(const struct cot_run_backend *b, struct cot_error *err)
{
	const char *pool = getenv("CUDA_MPS_PIPE_DIRECTORY");
	struct paths p;
	pid_t child;
	int rc;

	if (!b->name)
		return 0;
	if (!pool || !*pool)
		return cot_error_set(err, -ENOTSUP,
				     "--backend needs a program in a pool: outside of one each "
				     "launch would be a change of process on the GPU");
	rc = find(b->name, &p, err);
	if (rc)
		return rc;
	child = fork();
	if (child < 0)
		return cot_error_set(err, -errno, "cannot start the backend: %s", strerror(errno));
	if (!child)
		become(b, &p);
	rc = wait_until_ready(child, &p, err);
	if (!rc && setenv("COTENANT_BACKEND", p.socket, 1))
		rc = cot_error_set(err, -errno, "out of memory");
	return rc;
}
