/*
 * Descriptors that a child must not hold: another process may wait for the end of a pipe, or for a
 * lock. May be called between fork() and exec().
 */
#ifndef COT_BASE_DESCRIPTORS_H
#define COT_BASE_DESCRIPTORS_H

/*
 * Closes all from `first` to `last`, those that are open; ~0u: there is no last one. Where the
 * kernel cannot close many at once (before Linux 5.9), those that the limit of the process allows,
 * 65536 at most.
 */
void cot_descriptors_close(unsigned first, unsigned last);

#endif
