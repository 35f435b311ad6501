#include "daemon/processes.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "daemon/found.h"

#define PIDFS_MAGIC 0x50494446 /* since Linux 6.9: the number of its inode is the process's */

#define ENVIRON_MAX (256u << 10)
#define STAT_MAX    1024

/* ---- one that lives ---- */

/* What /proc says of it after its name, beginning with the letter of its state. -errno. */
static int read_stat(pid_t pid, char line[STAT_MAX], const char **ret_text)
{
	char path[64], *p;
	size_t n;
	FILE *f;

	*ret_text = "";
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : -ESRCH;
	n = fread(line, 1, STAT_MAX - 1, f);
	(void)fclose(f);
	line[n] = '\0';
	p = strrchr(line, ')'); /* the name may hold anything */
	if (!p || p[1] != ' ' || !p[2])
		return -ESRCH;
	*ret_text = p + 2;
	return 0;
}

bool cot_process_is_stopped(pid_t pid)
{
	char line[STAT_MAX];
	const char *p;

	return read_stat(pid, line, &p) == 0 && (*p == 'T' || *p == 't');
}

pid_t cot_process_parent(pid_t pid)
{
	char line[STAT_MAX];
	const char *p;

	return read_stat(pid, line, &p) == 0 && p[1] == ' ' ? (pid_t)strtol(p + 2, NULL, 10) : 0;
}

bool cot_process_has_ended(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

uint64_t cot_process_number(int pidfd)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(pidfd, &fs) < 0 || (unsigned long)fs.f_type != PIDFS_MAGIC ||
	    fstat(pidfd, &st) < 0)
		return 0;
	return st.st_ino;
}

int cot_process_start(pid_t pid, uint64_t *ret_start_time)
{
	char line[STAT_MAX];
	uint64_t start = 0;
	const char *p;
	int i, rc = read_stat(pid, line, &p);

	if (rc < 0)
		return rc;
	if (*p == 'Z' || *p == 'X')
		return -ESRCH;
	for (i = 3; p && i < 22; i++)
		p = strchr(p + 1, ' ');
	if (p)
		start = strtoull(p + 1, NULL, 10);
	*ret_start_time = start ? start : 1;
	return 0;
}

uint64_t cot_process_start_time(pid_t pid)
{
	uint64_t start_time;

	return cot_process_start(pid, &start_time) == 0 ? start_time : 0;
}

/* ---- what is in its environment ---- */

static size_t read_file(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, size, f);
	(void)fclose(f);
	return n;
}

/* The real ones: a program that runs with another's rights has its environment from these. */
static int read_owner(pid_t pid, uid_t *ret_uid, gid_t *ret_gid)
{
	char text[1024];
	size_t n = read_file(pid, "status", text, sizeof(text) - 1);
	const char *uid, *gid;

	text[n] = '\0';
	uid = strstr(text, "\nUid:\t");
	gid = strstr(text, "\nGid:\t");
	if (!uid || !gid)
		return -ESRCH;
	*ret_uid = (uid_t)strtoul(uid + 6, NULL, 10);
	*ret_gid = (gid_t)strtoul(gid + 6, NULL, 10);
	return 0;
}

int cot_process_user(pid_t pid, uid_t *ret_uid)
{
	gid_t gid;

	return read_owner(pid, ret_uid, &gid);
}

/* By its name, which the control program gives it. */
static bool is_server(pid_t pid)
{
	static const char suffix[] = "-server";
	char text[4096];
	size_t n = read_file(pid, "cmdline", text, sizeof(text) - 1);

	text[n] = '\0';
	n = strlen(text);
	return n >= sizeof(suffix) - 1 && !strcmp(text + n - (sizeof(suffix) - 1), suffix);
}

bool cot_process_has_argument(pid_t pid, const char *argument)
{
	char text[4096];
	size_t n = read_file(pid, "cmdline", text, sizeof(text) - 1);
	const char *p;

	text[n] = '\0';
	for (p = text; p < text + n; p += strlen(p) + 1)
		if (!strcmp(p, argument))
			return true;
	return false;
}

static bool read_process(const char *socket_path, pid_t pid, char *block, struct cot_process *ret)
{
	size_t n = read_file(pid, "environ", block, ENVIRON_MAX);

	*ret = (struct cot_process){.pid = pid};
	if (!n || !cot_found_parse(block, n, socket_path, &ret->found))
		return false;
	ret->parent = cot_process_parent(pid);
	ret->start_time = cot_process_start_time(pid);
	ret->is_server = ret->found.is_pool && is_server(pid);
	return ret->start_time && read_owner(pid, &ret->uid, &ret->gid) == 0;
}

bool cot_process_read(const char *socket_path, pid_t pid, struct cot_process *ret_process)
{
	char *block = malloc(ENVIRON_MAX);
	bool is_ours = block && read_process(socket_path, pid, block, ret_process);

	free(block);
	return is_ours;
}

bool cot_process_is_root(const struct cot_processes *all, const struct cot_process *p)
{
	unsigned i;

	for (i = 0; i < all->n; i++)
		if (all->p[i].pid == p->parent && all->p[i].found.id == p->found.id &&
		    all->p[i].found.is_pool == p->found.is_pool)
			return false;
	return true;
}

bool cot_process_is_of(const struct cot_process *p, uint32_t id, uid_t uid)
{
	return !p->found.is_pool && p->found.id == id && (p->uid == uid || p->uid == 0);
}

const struct cot_process *cot_processes_of(const struct cot_processes *all, uint32_t id, uid_t uid)
{
	const struct cot_process *oldest = NULL;
	unsigned i;

	for (i = 0; i < all->n; i++) {
		const struct cot_process *p = &all->p[i];

		if (cot_process_is_of(p, id, uid) &&
		    (!oldest || p->start_time < oldest->start_time))
			oldest = p;
	}
	return oldest;
}
