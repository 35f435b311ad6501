/*
 * The word that somebody meant who wrote another one: the nearest of those that there are, by
 * letters that are wrong, missing, too many or exchanged with the next. Pure.
 */
#ifndef COT_TEXT_NEAREST_H
#define COT_TEXT_NEAREST_H

#define COT_NEAREST_LETTERS 32u /* longer words are near to none */

struct cot_nearest {
	const char *word;  /* what was written */
	const char *found; /* NULL: none is near */
	unsigned distance;
};

/* For each word that there is, one after the other; of several that are as near the first one
 * counts. */
void cot_nearest_try(struct cot_nearest *n, const char *candidate);

#define COT_NEAREST_HINT_MAX 64
/* " (did you mean 'blocks'?)", or nothing. */
const char *cot_nearest_hint(const struct cot_nearest *n, char buf[COT_NEAREST_HINT_MAX]);
/* The hint at the nearest of these words. */
const char *cot_nearest_of(const char *word, const char *const *words, unsigned n,
			   char buf[COT_NEAREST_HINT_MAX]);

#endif
