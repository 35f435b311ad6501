/* What has been done, and why something was not. */
#ifndef COT_GUEST_SHIM_COUNTS_H
#define COT_GUEST_SHIM_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a launch, or the code of a whole image, is left as it is. */
enum cot_shim_why {
	COT_SHIM_WHY_NOT, /* it need not be left */
#define WHY(id, name, what) COT_SHIM_WHY_##id,
#include "proto/why.def"
#undef WHY
	COT_SHIM_N_WHYS,
};

void cot_shim_count_why(enum cot_shim_why why);
/* Each launch on the GPU is one of these three: as workers; where the daemon wants the program to
 * be, which may be all of the GPU; elsewhere. */
void cot_shim_count_workers(void);
void cot_shim_count_followed(void);
void cot_shim_count_stayed(enum cot_shim_why why);
/* So many of those that followed were before the program had a part: they did not. */
void cot_shim_count_early(uint64_t n);
void cot_shim_count_plain(enum cot_shim_why why); /* besides: a rewritten kernel, not as workers */
void cot_shim_count_moved(void);		  /* a change of parts */
/* Launches that were paced. */
void cot_shim_count_paced(unsigned n);
void cot_shim_count_pace_wait(uint64_t ns, bool failed);
/* A launch that a hold made wait; it went on because nothing had ended the hold in time. */
void cot_shim_count_held(uint64_t ns, bool lapsed);
/* A launch that was to be on the CPU: it was, for so long, or (any other than NOT) was not. */
void cot_shim_count_cpu(enum cot_shim_why why, uint64_t ns);
/* One launch of so many; one that went as it is, and why. */
void cot_shim_count_merged(unsigned n);
void cot_shim_count_attached(bool attached); /* to a backend; or no longer */
/* A module for merged launches: from the store; rewritten here; besides, a file that was left out,
 * and one that could not be kept. */
enum cot_shim_template {
	COT_SHIM_TEMPLATE_FOUND,
	COT_SHIM_TEMPLATE_MADE,
	COT_SHIM_TEMPLATE_IGNORED,
	COT_SHIM_TEMPLATE_NOT_KEPT,
	COT_SHIM_N_TEMPLATE,
};
void cot_shim_count_template(enum cot_shim_template what);
void cot_shim_count_say_merged(void); /* to the log */
void cot_shim_count_unmerged(enum cot_shim_why why);
/* A copy, or a piece of one, that gave way. */
void cot_shim_count_copy_wait(uint64_t ns);
/* A thread of a measured program waited for the GPU. One thread at a time. */
void cot_shim_count_gpu_wait(uint64_t ns);
void cot_shim_count_rewritten(unsigned n);
void cot_shim_count_refused(unsigned reason); /* enum cot_reason */
/* Whether there are counts that the daemon has not got. */
bool cot_shim_counts_changed(void);
/* From now on the listener does not look; the next change wakes it. */
void cot_shim_counts_rest(void);
/* A packet of at most `size` bytes; the bytes used, 0 if nothing has changed since the last one. */
size_t cot_shim_counts_fill(void *packet, size_t size, bool always);
/* The same of parts: struct cot_msg_part_counts. */
size_t cot_shim_counts_fill_parts(void *packet, size_t size, bool always);
/* The same of the pace: struct cot_msg_pace_counts; 0 as well if nothing was ever paced. */
size_t cot_shim_counts_fill_pace(void *packet, bool always);

#endif
