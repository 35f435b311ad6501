#include "cli/uncontrolled.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/environ.h"
#include "cli/client.h"
#include "cli/show.h"
#include "text/number.h"

/* A maps file that is longer is not read to its end. */
#define MAPS_LINES_MAX 20000u

struct found {
	struct cot_wish wish;
	pid_t pid, parent;
	uid_t uid;
	uint64_t start; /* in ticks since the machine's start */
	const char *why;
};

struct search {
	const json_t *answer; /* NULL: none */
	bool no_daemon;	      /* for certain */
	struct cot_sockets sockets;
	const char *runtime;
	struct found found[COT_UNCONTROLLED_MAX];
	unsigned n;
};

/* ---- environments ---- */

/* Texts of programs go to a terminal: what is not printable ASCII becomes '?'. */
static void copy(const char *block, size_t size, const char *key, char *text, size_t text_size)
{
	const char *value = cot_environ_value(block, size, key);
	char *p;

	(void)snprintf(text, text_size, "%s", value ? value : "");
	for (p = text; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
}

bool cot_uncontrolled_parse(const char *block, size_t size, struct cot_wish *ret_wish)
{
	const char *role = cot_environ_value(block, size, "COTENANT_ROLE");
	const char *tenant = cot_environ_value(block, size, "COTENANT_TENANT");
	struct cot_wish w = {0};

	copy(block, size, COT_UNCONTROLLED_MARK, w.reason, sizeof(w.reason));
	if (tenant && !cot_number_u64(tenant, &w.tenant))
		return false;
	if ((role && !strcmp(role, "pool")) || (!w.tenant && !*w.reason))
		return false;
	copy(block, size, "COTENANT_NAME", w.name, sizeof(w.name));
	copy(block, size, "COTENANT_CLASS", w.class_, sizeof(w.class_));
	copy(block, size, "COTENANT_SOCKET", w.socket, sizeof(w.socket));
	copy(block, size, "COTENANT_RUNTIME_DIR", w.runtime, sizeof(w.runtime));
	if (!*w.name)
		(void)snprintf(w.name, sizeof(w.name), "-");
	if (!*w.class_)
		(void)snprintf(w.class_, sizeof(w.class_), "batch");
	*ret_wish = w;
	return true;
}

/* ---- processes ---- */

/* The field with this number of a line of /proc/PID/stat, a whole number. The second field is the
 * name, which may hold anything; name_end is its last character. */
static bool stat_field(const char *name_end, unsigned number, uint64_t *ret_value)
{
	const char *p = name_end;
	unsigned i;
	char *end;

	for (i = 2; p && i < number; i++)
		p = strchr(p + 1, ' ');
	if (!p)
		return false;
	errno = 0;
	*ret_value = strtoull(p + 1, &end, 10);
	return end != p + 1 && *end == ' ' && !errno;
}

/* Its parent and when it began. False: it has ended. */
static bool read_stat(struct found *f)
{
	char path[64], line[1024];
	const char *name_end;
	uint64_t parent;
	size_t n;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)f->pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	n = fread(line, 1, sizeof(line) - 1, file);
	(void)fclose(file);
	line[n] = '\0';
	name_end = strrchr(line, ')');
	if (!name_end || name_end[1] != ' ' || name_end[2] == 'Z' || name_end[2] == 'X' ||
	    !stat_field(name_end, 4, &parent) || !stat_field(name_end, 22, &f->start))
		return false;
	f->parent = (pid_t)parent;
	return true;
}

/* Is it mapped into the process: our library, and CUDA's? */
static void look_at_maps(pid_t pid, bool *ret_ours, bool *ret_cuda)
{
	char path[64], line[1024];
	unsigned n = 0;
	FILE *file;

	*ret_ours = *ret_cuda = false;
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	while (file && n++ < MAPS_LINES_MAX && fgets(line, sizeof(line), file)) {
		*ret_ours |= strstr(line, "/libcotenant.so") != NULL;
		*ret_cuda |= strstr(line, "/libcuda.so.1") != NULL;
	}
	if (file)
		(void)fclose(file);
}

/* ---- is it under control? ---- */

static bool is_known(const struct search *s, uint64_t tenant)
{
	const json_t *list = json_object_get(s->answer, "tenants"), *t;
	size_t i;

	json_array_foreach (list, i, t) {
		if ((uint64_t)cot_show_number(t, "id") == tenant)
			return true;
	}
	return false;
}

static bool is_ours(const struct search *s, const struct cot_wish *w)
{
	unsigned i;

	if (!w->tenant)
		return !strcmp(w->runtime, s->runtime);
	for (i = 0; i < s->sockets.n; i++)
		if (!strcmp(w->socket, s->sockets.path[i]))
			return true;
	return false;
}

/* Why it has no control, or NULL. */
static const char *judge(const struct search *s, const struct found *f)
{
	const struct cot_wish *w = &f->wish;
	bool ours, cuda;

	if (!w->tenant)
		return w->reason;
	if (s->no_daemon)
		return "the daemon that gave it a place has gone";
	if (!s->answer)
		return NULL;
	look_at_maps(f->pid, &ours, &cuda);
	/* Ignore children that were left behind and do not use the GPU. */
	if (!is_known(s, w->tenant))
		return cuda ? "the daemon does not know it" : NULL;
	if (ours)
		return NULL;
	if (*w->reason)
		return w->reason;
	return cuda ? "libcotenant.so is not loaded into it" : NULL;
}

static void look_at(struct search *s, pid_t pid, char *block)
{
	struct found *f = &s->found[s->n];
	char path[64];
	struct stat st;
	size_t n = 0;
	FILE *file;

	*f = (struct found){.pid = pid};
	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fstat(fileno(file), &st) == 0)
		n = fread(block, 1, COT_UNCONTROLLED_ENV_MAX, file);
	(void)fclose(file);
	if (!n || !cot_uncontrolled_parse(block, n, &f->wish) || !is_ours(s, &f->wish) ||
	    !read_stat(f))
		return;
	f->uid = st.st_uid;
	f->why = judge(s, f);
	s->n += f->why != NULL;
}

static void look_at_all(struct search *s)
{
	char *block = malloc(COT_UNCONTROLLED_ENV_MAX), *end;
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	long pid;

	while (dir && block && s->n < COT_UNCONTROLLED_MAX && (entry = readdir(dir))) {
		pid = strtol(entry->d_name, &end, 10);
		if (!*end && pid > 0 && pid != (long)getpid())
			look_at(s, (pid_t)pid, block);
	}
	if (dir)
		(void)closedir(dir);
	free(block);
}

/* Nothing above it is shown for the same wish. */
static bool is_topmost(const struct search *s, const struct found *f)
{
	unsigned i;

	for (i = 0; i < s->n; i++)
		if (s->found[i].pid == f->parent && s->found[i].wish.tenant == f->wish.tenant &&
		    !strcmp(s->found[i].wish.name, f->wish.name))
			return false;
	return true;
}

static json_t *describe(const struct found *f)
{
	long ticks = sysconf(_SC_CLK_TCK);
	struct timespec now;
	double age_s;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	age_s = (double)now.tv_sec - (double)f->start / (double)(ticks > 0 ? ticks : 100);
	return json_pack("{s:i, s:i, s:s, s:s, s:s, s:I}", "pid", (int)f->pid, "uid", (int)f->uid,
			 "name", f->wish.name, "class", f->wish.class_, "reason", f->why, "for_s",
			 (json_int_t)(age_s > 0 ? age_s : 0));
}

json_t *cot_uncontrolled_find(const json_t *answer, int rc)
{
	const char *runtime = getenv("COTENANT_RUNTIME_DIR");
	struct search s = {.answer = answer,
			   .no_daemon = rc == -ENOENT || rc == -ECONNREFUSED,
			   .runtime = runtime ? runtime : ""};
	json_t *list = json_array();
	struct cot_error err;
	unsigned i;

	(void)cot_client_sockets(&s.sockets, &err);
	look_at_all(&s);
	for (i = 0; i < s.n; i++)
		/* What ended meanwhile is no news; nor is what the daemon heard of too late. */
		if (is_topmost(&s, &s.found[i]) && read_stat(&s.found[i]))
			(void)json_array_append_new(list, describe(&s.found[i]));
	return list;
}

void cot_uncontrolled_print(const json_t *list)
{
	static const char *const heads[] = {"PID", "~NAME", "CLASS", "FOR",
					    "~WITHOUT CONTROL, BECAUSE"};
	struct cot_table *t;
	const json_t *o;
	size_t i;

	if (!json_array_size(list))
		return;
	t = cot_show_columns(heads, COT_ARRAY_LEN(heads));
	json_array_foreach (list, i, o) {
		cot_table_cell(t, "%lld", cot_show_number(o, "pid"));
		cot_table_text(t, cot_show_text(o, "name"));
		cot_table_text(t, cot_show_text(o, "class"));
		cot_table_cell(t, "%lld s", cot_show_number(o, "for_s"));
		cot_table_text(t, cot_show_text(o, "reason"));
	}
	cot_show_table(t);
}
