/*
 * NVIDIA's MPS programs: one control program in the foreground per pool, with private folders, and
 * our library in it, so that it is in the servers that it starts as well. Commands are lines on the
 * standard input of a second run of the same program.
 */
#include "daemon/mps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/access.h"
#include "daemon/basis.h"
#include "daemon/pool.h"

struct variables {
	char text[COT_PROGRAM_VARIABLES][COT_PATH_TEXT_MAX + 64];
	unsigned n;
};

static void add(struct variables *v, const char *key, const char *value)
{
	if (v->n < COT_PROGRAM_VARIABLES)
		(void)snprintf(v->text[v->n++], sizeof(v->text[0]), "%s=%s", key, value);
}

static void pipe_variables(const struct pool *p, struct variables *v)
{
	add(v, "CUDA_MPS_PIPE_DIRECTORY", p->pipe);
	add(v, "CUDA_MPS_LOG_DIRECTORY", p->log);
}

/* Our libraries precede those that LD_PRELOAD has already, so that they see every call first. */
static void preload_variable(const struct basis *b, struct variables *v)
{
	const char *others = getenv("LD_PRELOAD");
	char value[COT_PATH_TEXT_MAX];

	if (!b->library[0])
		return;
	if (snprintf(value, sizeof(value), "%s%s%s", b->library, others && *others ? ":" : "",
		     others ? others : "") < (int)sizeof(value))
		add(v, "LD_PRELOAD", value);
}

static void control_variables(const struct pool *p, struct variables *v)
{
	char text[COT_PATH_TEXT_MAX];

	pipe_variables(p, v);
	preload_variable(p->basis, v);
	add(v, "COTENANT_SOCKET", p->basis->socket_path);
	add(v, "COTENANT_ROLE", "pool");
	add(v, "COTENANT_POOL", p->name);
	(void)snprintf(text, sizeof(text), "%u", p->id);
	add(v, "COTENANT_TENANT", text);
	cot_gpus_visible(&p->basis->gpus, 1ull << p->gpu, text, sizeof(text));
	add(v, "COTENANT_GPU", text);
	if (p->basis->gpus.n > 1)
		add(v, "CUDA_VISIBLE_DEVICES", text);
}

/* `out` -1: what it prints goes into the log as well. */
static pid_t spawn(const struct pool *p, const struct cot_program *program, struct variables *v,
		   int in, int out, struct cot_error *err)
{
	struct cot_program whole = *program;
	char path[COT_PATH_TEXT_MAX];
	unsigned i;
	pid_t pid;
	int log, rc;

	rc = cot_paths_join(path, p->log, "cotenantd-mps.log", err);
	if (rc < 0)
		return rc;
	log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (log < 0)
		return cot_error_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	for (i = 0; i < v->n; i++)
		whole.variables[i] = v->text[i];
	whole.fds[0] = in;
	whole.fds[1] = out < 0 ? log : out;
	whole.fds[2] = log;
	pid = cot_spares_start(&p->basis->spares, &whole);
	(void)close(log);
	if (pid < 0)
		return cot_error_set(err, pid, "cannot start a process: %s", strerror(-pid));
	return pid;
}

/* One that was killed has left its socket, which would look as if the new one listened already. */
static void forget_socket(const struct pool *p)
{
	char path[COT_PATH_TEXT_MAX];

	if (cot_paths_join(path, p->pipe, "control", NULL) == 0)
		(void)unlink(path);
}

pid_t cot_mps_start_control(const struct pool *p, struct cot_error *err)
{
	static struct variables v;
	char path[COT_PATH_TEXT_MAX];
	struct cot_program program = {.path = path,
				      .argv = {path, "-f", p->multiuser ? "-M" : NULL}};
	unsigned mode = cot_config_folder_mode(&p->basis->config);
	int in, rc;
	pid_t pid;

	if (!cot_paths_program(p->basis->config.mps_program, path))
		return cot_error_set(err, -ENOENT,
				     "the MPS control program '%s' was not found; it comes with "
				     "NVIDIA's driver",
				     p->basis->config.mps_program);
	rc = cot_paths_make_private(p->folder, mode, err);
	if (!rc)
		rc = cot_paths_make_private(p->pipe, mode, err);
	if (!rc)
		rc = cot_paths_make_private(p->log, mode, err);
	if (rc < 0)
		return rc;
	in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (in < 0)
		return cot_error_set(err, -errno, "cannot open /dev/null: %s", strerror(errno));
	forget_socket(p);
	v.n = 0;
	control_variables(p, &v);
	pid = spawn(p, &program, &v, in, -1, err);
	(void)close(in);
	return pid;
}

/* A line fits into the pipe's buffer: writing it does not wait. */
static int open_line(const char *line)
{
	int ends[2], rc = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	if (write(ends[1], line, strlen(line)) < 0 || write(ends[1], "\n", 1) < 0)
		rc = -errno;
	(void)close(ends[1]);
	if (!rc)
		return ends[0];
	(void)close(ends[0]);
	return rc;
}

pid_t cot_mps_tell(const struct pool *p, const char *line, int *ret_out, struct cot_error *err)
{
	static struct variables v;
	char path[COT_PATH_TEXT_MAX];
	struct cot_program program = {.path = path, .argv = {path}};
	int in, out[2] = {-1, -1};
	pid_t pid;

	if (!cot_paths_program(p->basis->config.mps_program, path))
		return cot_error_set(err, -ENOENT, "the MPS control program was not found");
	if (ret_out && pipe2(out, O_CLOEXEC | O_NONBLOCK) < 0)
		return cot_error_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	in = open_line(line);
	v.n = 0;
	pipe_variables(p, &v);
	pid = in < 0 ? (pid_t)cot_error_set(err, in, "cannot make a pipe: %s", strerror(-in))
		     : spawn(p, &program, &v, in, out[1], err);
	if (in >= 0)
		(void)close(in);
	if (!ret_out)
		return pid;
	(void)close(out[1]);
	if (pid < 0)
		(void)close(out[0]);
	else
		*ret_out = out[0];
	return pid;
}

bool cot_mps_listens(const struct pool *p)
{
	char path[COT_PATH_TEXT_MAX];
	struct stat st;

	return cot_paths_join(path, p->pipe, "control", NULL) == 0 && stat(path, &st) == 0;
}

int cot_mps_environment(const struct pool *p, char *block, size_t size, size_t *used)
{
	static struct variables v;
	char text[COT_PATH_TEXT_MAX];
	unsigned i;

	v.n = 0;
	pipe_variables(p, &v);
	if (p->basis->gpus.n > 1) {
		/* The server sees one GPU only, which is then number 0 to its programs. */
		cot_gpus_visible(&p->basis->gpus, 1ull << p->gpu, text, sizeof(text));
		add(&v, "CUDA_VISIBLE_DEVICES", strncmp(text, "GPU-", 4) ? "0" : text);
	}
	for (i = 0; i < v.n; i++) {
		size_t n = strlen(v.text[i]) + 1;

		if (*used + n > size)
			return -ENOSPC;
		memcpy(block + *used, v.text[i], n);
		*used += n;
	}
	return 0;
}
