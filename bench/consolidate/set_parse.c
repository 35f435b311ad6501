#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/consolidate/set.h"

/* A number behind `mark`, if that is next; *text moves behind it. */
static int number(const char **text, char mark, uint32_t least, uint32_t most, uint32_t *ret_n)
{
	unsigned long n;
	char *end;

	if (**text != mark)
		return 0;
	if ((*text)[1] < '0' || (*text)[1] > '9')
		return -EINVAL;
	n = strtoul(*text + 1, &end, 10);
	if (n < least || n > most)
		return -EINVAL;
	*ret_n = (uint32_t)n;
	*text = end;
	return 0;
}

static int part(const char **text, struct cot_set_part *ret_part, struct cot_error *err)
{
	size_t n = strcspn(*text, "/*+");
	const char *begin = *text;
	char name[64] = "";

	*ret_part = (struct cot_set_part){.n = 1};
	if (n < sizeof(name))
		memcpy(name, begin, n);
	ret_part->bench = name[0] ? cot_bench_find(name) : NULL;
	if (!ret_part->bench)
		return cot_error_set(err, -EINVAL,
				     "there is no benchmark '%.*s'; kernels-run --list has them",
				     (int)n, begin);
	*text += n;
	if (number(text, '/', 1, 1u << 24, &ret_part->n_blocks) ||
	    number(text, '*', 1, COT_SET_INSTANCES, &ret_part->n) || (**text && **text != '+'))
		return cot_error_set(
			err, -EINVAL,
			"'%s' behind %s is not expected; expected /BLOCKS, *INSTANCES (to %u) or +",
			*text, name, COT_SET_INSTANCES);
	return 0;
}

int cot_set_parse(const char *text, struct cot_set *ret_set, struct cot_error *err)
{
	struct cot_set set = {.n_parts = 0};
	const char *at = text;
	int rc;

	do {
		if (set.n_parts == COT_SET_PARTS)
			return cot_error_set(err, -EINVAL, "'%s' has more than %u benchmarks", text,
					     COT_SET_PARTS);
		rc = part(&at, &set.parts[set.n_parts], err);
		if (rc)
			return rc;
		set.n_instances += set.parts[set.n_parts++].n;
	} while (*at++ == '+');
	if (set.n_instances > COT_SET_INSTANCES)
		return cot_error_set(err, -EINVAL, "'%s' has more than %u instances", text,
				     COT_SET_INSTANCES);
	*ret_set = set;
	return 0;
}
