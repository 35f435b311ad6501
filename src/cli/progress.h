/*
 * How far a command is, and how long the rest may take: a bar on stderr if that is a terminal and
 * the work takes more than half a second; with --progress lines, wherever stderr goes. For the main
 * thread only.
 */
#ifndef COT_CLI_PROGRESS_H
#define COT_CLI_PROGRESS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

/* The option --progress. */
extern const struct argp cot_progress_argp;

struct cot_progress {
	const char *label;
	double start_s, next_s;
	bool bar, lines, shown;
};

void cot_progress_init(struct cot_progress *p, const char *label);
void cot_progress_update(struct cot_progress *p, double done); /* in [0, 1] */
void cot_progress_finish(struct cot_progress *p);	       /* wipes the bar away */

/* " 40 %, 12 s, about 18 s left": the rest as it was until now, where that says something. */
void cot_progress_say(double done, double elapsed_s, char *ret_text, size_t size);

#endif
