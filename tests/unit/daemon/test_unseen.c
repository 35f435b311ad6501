/* What others may read of the daemon's memory: its arguments are gone, all else is as it was. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/unseen.h"
#include "in_a_child.h"

static size_t read_own(const char *name, char *text, size_t size)
{
	char path[64];
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/%s", name);
	f = fopen(path, "r");
	n = f ? fread(text, 1, size, f) : 0;
	if (f)
		(void)fclose(f);
	return n;
}

static int check_unseen(void)
{
	static char before[65536], after[65536];
	size_t n = read_own("environ", before, sizeof(before));
	char *heap;

	CHECK(read_own("cmdline", after, sizeof(after)) > 0);
	CHECK(cot_unseen_make() == 0);
	CHECK(read_own("cmdline", after, sizeof(after)) == 0);
	CHECK(read_own("environ", after, sizeof(after)) == n && !memcmp(before, after, n));
	CHECK(read_own("comm", after, sizeof(after)) > 0 && !strncmp(after, "test_daemon_uns", 15));
	heap = calloc(1, 100000); /* the heap grows as ever */
	CHECK(heap && !heap[99999]);
	free(heap);
	CHECK(cot_unseen_make() == 0); /* once more changes nothing */
	CHECK(read_own("cmdline", after, sizeof(after)) == 0);
	return 0;
}

static void test_unseen(void **state)
{
	(void)state;
	in_a_child(check_unseen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_unseen)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
