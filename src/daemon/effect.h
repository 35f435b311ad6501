/*
 * Whether a program's quota, reservation or part of a GPU does anything, in a sentence: a share
 * that silently holds for nothing is worse than none. Pure.
 */
#ifndef COT_DAEMON_EFFECT_H
#define COT_DAEMON_EFFECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/units.h"

/* What has no effect after this long is reported. */
#define COT_EFFECT_LASTS_NS (10 * COT_NS_PER_S)

struct cot_effect {
	bool quota, reserve; /* it has one */
	bool one_pool; /* the policy gives reservations what they want, from others if need be */
	bool lasts;    /* the program has been there for COT_EFFECT_LASTS_NS */
	bool shim;     /* it has said hello */
	/* Launches as workers or where the daemon wants the program, and others. */
	uint64_t n_covered, n_elsewhere;
	unsigned n_outside; /* batch programs that cannot be kept off what it has reserved */
};

/* Writes why it has no effect, or none on a part of it. False: it has its full effect, or there is
 * no share. */
bool cot_effect_say(const struct cot_effect *e, char *ret_text, size_t size);

/* The same of a program's part of a GPU. */
struct cot_part_effect {
	bool asked;		       /* its user asked for SMs */
	bool lasts;		       /* the program has been there that long */
	bool parts;		       /* it was started so that it can be placed */
	bool shim;		       /* a shim has said whether it can */
	int status;		       /* of a shim: why it cannot */
	int place_status;	       /* of the last order */
	uint64_t n_followed, n_stayed; /* launches on the part, and elsewhere; or 0: others tell */
	const char *stays;	       /* why most of those did; NULL: not known */
	bool pace_failed;	       /* it has a pace that it does not keep */
};

bool cot_part_effect_say(const struct cot_part_effect *e, char *ret_text, size_t size);

#endif
