#include "daemon/lessons.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/basis.h"
#include "daemon/file.h"
#include "daemon/lesson_text.h"
#include "daemon/log.h"
#include "text/text.h"

#define NAME	 "lessons"
#define PAUSE_NS (2 * COT_NS_PER_S)

/* The machine's daemon keeps it where it outlives a restart of the machine, if it has such a
 * place. */
static int path_of(const struct lessons *l, char ret_path[COT_PATH_TEXT_MAX])
{
	const char *runtime = l->basis->runtime, *state = getenv("STATE_DIRECTORY");

	if (!cot_paths_is_system(runtime) || !state || state[0] != '/')
		state = runtime;
	return cot_paths_join(ret_path, state, NAME, NULL);
}

/* ---- in ---- */

static int read_file(const char *path, struct cot_lesson ret[COT_LESSONS_MAX], uint32_t *ret_n,
		     struct cot_error *err)
{
	struct cot_error why;
	size_t size;
	char *bytes;
	int rc = cot_text_read(path, &bytes, &size, err);

	if (rc < 0)
		return rc;
	rc = cot_lesson_text_read(bytes, size, ret, ret_n, &why);
	free(bytes);
	return rc < 0 ? cot_error_set(err, rc, "%s, %s", path, why.text) : 0;
}

void cot_lessons_load(struct lessons *l)
{
	static struct cot_lesson lessons[COT_LESSONS_MAX];
	struct cot_event ev = {.type = COT_EV_LESSON, .now_ns = cot_now_ns()};
	char path[COT_PATH_TEXT_MAX];
	struct cot_error err;
	uint32_t n = 0, i;
	int rc;

	if (path_of(l, path) < 0)
		return;
	rc = read_file(path, lessons, &n, &err);
	if (rc < 0 && rc != -ENOENT)
		log_warn("what was learned before is lost: %s", err.text);
	for (i = 0; i < n; i++) {
		ev.lesson = lessons[i];
		(void)cot_host_event(l->basis->host, &ev);
	}
}

/* ---- out ---- */

static uint64_t n_changes(const struct lessons *l)
{
	struct cot_sched_stats stats;

	cot_sched_stats(cot_host_sched(l->basis->host), &stats);
	return stats.lessons;
}

static int write_file(const struct lessons *l, const char *path)
{
	static struct cot_lesson lessons[COT_LESSONS_MAX];
	static char text[COT_LESSON_TEXT_MAX];

	(void)cot_lesson_text_write(
		lessons, cot_sched_lessons(cot_host_sched(l->basis->host), lessons), text);
	return cot_file_write(path, text);
}

static void save(struct lessons *l)
{
	char path[COT_PATH_TEXT_MAX];
	int rc = path_of(l, path);

	if (!rc) {
		rc = write_file(l, path);
		if (rc < 0 && !l->lost)
			log_warn("cannot write %s: %s; trying again every 2 s", path,
				 strerror(-rc));
		else if (!rc && l->lost)
			log_info("%s is written again", path);
		l->lost = rc < 0;
	}
	if (!rc)
		l->n_written = n_changes(l);
}

static void rested(struct cot_timer *timer, uint64_t now_ns)
{
	(void)timer;
	(void)now_ns; /* cot_lessons_keep() follows */
}

void cot_lessons_keep(struct lessons *l)
{
	if (l->pause.armed || n_changes(l) == l->n_written)
		return;
	save(l);
	l->pause.fire = rested;
	cot_timer_set(&l->basis->loop, &l->pause, cot_now_ns() + PAUSE_NS);
}

void cot_lessons_end(struct lessons *l)
{
	if (n_changes(l) != l->n_written)
		save(l);
}
