#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/show.h"

#define PATIENCE_S 0.5 /* of the bar */
#define REDRAW_S   0.1
#define LINES_S	   5.0
#define BAR_CELLS  30
/* Before that, what was done says nothing about the rest. */
#define KNOWN_DONE 0.01
#define KNOWN_S	   1.0

enum { KEY_PROGRESS = 'p' + 256 };

static bool asked;

static error_t parse(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	(void)state;
	if (key == ARGP_KEY_INIT)
		asked = false;
	if (key != KEY_PROGRESS)
		return ARGP_ERR_UNKNOWN;
	asked = true;
	return 0;
}

static const struct argp_option options[] = {
	{"progress", KEY_PROGRESS, NULL, 0,
	 "Say on standard error how far it is, also where that is no terminal", 9},
	{0},
};

const struct argp cot_progress_argp = {.options = options, .parser = parse};

static double now_s(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

void cot_progress_init(struct cot_progress *p, const char *label)
{
	const char *term = getenv("TERM");
	bool terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb");

	memset(p, 0, sizeof(*p));
	p->label = label;
	p->bar = terminal;
	p->lines = asked && !terminal;
	p->start_s = now_s();
	p->next_s = p->start_s + (terminal ? PATIENCE_S : 0);
}

void cot_progress_say(double done, double elapsed_s, char *ret_text, size_t size)
{
	char elapsed[32], left[32], rest[64] = "";

	cot_show_duration(elapsed_s, elapsed, sizeof(elapsed));
	if (done >= KNOWN_DONE && done < 1 && elapsed_s >= KNOWN_S) {
		cot_show_duration(elapsed_s * (1 - done) / done, left, sizeof(left));
		(void)snprintf(rest, sizeof(rest), ", about %s left", left);
	}
	(void)snprintf(ret_text, size, "%3.0f %%, %s%s", done * 100, elapsed, rest);
}

static void draw_bar(const char *label, double done, const char *text)
{
	char bar[BAR_CELLS + 1];
	int filled = (int)(done * BAR_CELLS), i;

	for (i = 0; i < BAR_CELLS; i++)
		bar[i] = i < filled ? '#' : '.';
	bar[BAR_CELLS] = '\0';
	(void)fprintf(stderr, "\r%s [%s] %s\033[K", label, bar, text);
}

void cot_progress_update(struct cot_progress *p, double done)
{
	double now;
	char text[128];

	if (!p->bar && !p->lines)
		return;
	now = now_s();
	if (now < p->next_s)
		return;
	p->next_s = now + (p->bar ? REDRAW_S : LINES_S);
	p->shown = true;
	done = done < 0.0 ? 0.0 : done > 1.0 ? 1.0 : done;
	cot_progress_say(done, now - p->start_s, text, sizeof(text));
	if (p->bar)
		draw_bar(p->label, done, text);
	else
		(void)fprintf(stderr, "%s: %s\n", p->label, text);
	(void)fflush(stderr);
}

void cot_progress_finish(struct cot_progress *p)
{
	char took[32];

	if (p->bar && p->shown)
		(void)fputs("\r\033[K", stderr);
	if (p->lines) {
		cot_show_duration(now_s() - p->start_s, took, sizeof(took));
		(void)fprintf(stderr, "%s: ended after %s\n", p->label, took);
	}
	(void)fflush(stderr);
	*p = (struct cot_progress){0};
}
