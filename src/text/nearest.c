#include "text/nearest.h"

#include <stdio.h>
#include <string.h>

/* A third of the letters may be wrong, two at most. */
static unsigned most(size_t letters)
{
	return letters < 3 ? 0 : letters < 6 ? 1 : 2;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* How many letters differ (optimal string alignment): three rows of the table of all beginnings. */
static unsigned distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
	unsigned rows[3][COT_NEAREST_LETTERS + 1];
	size_t i, k;

	for (k = 0; k <= n_b; k++)
		rows[0][k] = (unsigned)k;
	for (i = 1; i <= n_a; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3],
			 *before = rows[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (k = 1; k <= n_b; k++) {
			row[k] = least(above[k - 1] + (a[i - 1] != b[k - 1]),
				       least(above[k], row[k - 1]) + 1);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				row[k] = least(row[k], before[k - 2] + 1);
		}
	}
	return rows[n_a % 3][n_b];
}

void cot_nearest_try(struct cot_nearest *n, const char *candidate)
{
	size_t n_word = strlen(n->word), n_candidate = strlen(candidate);
	unsigned d;

	if (n_word > COT_NEAREST_LETTERS || n_candidate > COT_NEAREST_LETTERS)
		return;
	d = distance(n->word, n_word, candidate, n_candidate);
	if (d > most(n_candidate) || (n->found && d >= n->distance))
		return;
	n->found = candidate;
	n->distance = d;
}

const char *cot_nearest_hint(const struct cot_nearest *n, char buf[COT_NEAREST_HINT_MAX])
{
	buf[0] = '\0';
	if (n->found)
		(void)snprintf(buf, COT_NEAREST_HINT_MAX, " (did you mean '%s'?)", n->found);
	return buf;
}

const char *cot_nearest_of(const char *word, const char *const *words, unsigned n,
			   char buf[COT_NEAREST_HINT_MAX])
{
	struct cot_nearest near = {.word = word};
	unsigned i;

	for (i = 0; i < n; i++)
		cot_nearest_try(&near, words[i]);
	return cot_nearest_hint(&near, buf);
}
