/*
 * The parts of `cotenant doctor`: a list of findings, the checks that need no GPU work, and the
 * probes, small CUDA programs on which everything is tried for real. Private to doctor*.c.
 */
#ifndef COT_CLI_DOCTOR_H
#define COT_CLI_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/compiler.h"

enum cot_finding_grade { COT_FINDING_OK, COT_FINDING_WARN, COT_FINDING_FAIL, COT_FINDING_SKIP };

#define COT_FINDINGS_MAX     32u
#define COT_FINDING_TEXT_MAX 512u

struct cot_finding {
	const char *name; /* a word for machines: "driver", "mps", ... */
	enum cot_finding_grade grade;
	char what[COT_FINDING_TEXT_MAX];   /* one sentence */
	char advice[COT_FINDING_TEXT_MAX]; /* what to do; empty when there is nothing to do */
	json_t *figures;		   /* for --json, which takes it; NULL: none */
};

struct cot_findings {
	struct cot_finding finding[COT_FINDINGS_MAX];
	unsigned n;
};

/* Adds a finding and returns it, so that advice can be added. Never NULL: the last one is used
 * again when the list is full. */
struct cot_finding *cot_doctor_add(struct cot_findings *f, const char *name,
				   enum cot_finding_grade grade, const char *fmt, ...)
	COT_PRINTF(4, 5);
void cot_doctor_advise(struct cot_finding *finding, const char *fmt, ...) COT_PRINTF(2, 3);

/* Driver, device nodes, CUDA library, MPS program, our library, configuration. Returns whether a
 * GPU can be used at all. */
bool cot_doctor_machine(struct cot_findings *f);
/* Is there a daemon, and what does it say? */
bool cot_doctor_daemon(struct cot_findings *f, bool start);
/* Runs the probe alone and in a pool, sets slices, freezes, thaws. */
void cot_doctor_live(struct cot_findings *f);

/* Are the same ranges of SMs the same SMs for two programs of one MPS server? */
void cot_doctor_parts(struct cot_findings *f);

/* ---- doctor_child.c: a probe ---- */

struct cot_doctor_child {
	pid_t pid;
	int to, from;
	char line[256]; /* its last one */
};

/* It acts as "slices" or as "parts". */
bool cot_doctor_child_start(struct cot_doctor_child *c, bool solo, const char *probe);
/* The next line, or false after the time. */
bool cot_doctor_child_read(struct cot_doctor_child *c, int timeout_ms);
/* Sends a line, and reads one. */
bool cot_doctor_child_ask(struct cot_doctor_child *c, int timeout_ms, const char *fmt, ...)
	COT_PRINTF(3, 4);
void cot_doctor_child_stop(struct cot_doctor_child *c);
/* What either side says: the word, and just so many numbers behind it. */
bool cot_doctor_numbers(const char *line, const char *word, unsigned n, double *ret_numbers);

/* ---- what probes do: see doctor_probe.c and doctor_fill.c. Exit statuses ---- */

int cot_doctor_probe(void);
int cot_doctor_fill(void);

struct cot_driver;
bool cot_doctor_is_emulated(const struct cot_driver *cuda, int device);

#endif
