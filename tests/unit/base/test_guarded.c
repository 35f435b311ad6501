#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/guarded.h"
#include "test.h"

#define PAGE 4096u

static char *pages; /* nothing, two that can be read, nothing */

static int set_up(void **state)
{
	unsigned i;

	(void)state;
	pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return -1;
	for (i = 0; i < 2 * PAGE; i++)
		pages[PAGE + i] = (char)(i * 7);
	if (mprotect(pages, PAGE, PROT_NONE) || munmap(pages + 3 * PAGE, PAGE))
		return -1;
	return mprotect(pages + PAGE, 2 * PAGE, PROT_READ);
}

static int tear_down(void **state)
{
	(void)state;
	return munmap(pages, 3 * PAGE);
}

/* Whether the bytes from there on can be read; they are the right ones then. */
static bool reads(size_t offset, size_t n)
{
	static char to[PAGE + 1];
	bool ok;

	memset(to, 1, sizeof(to));
	errno = 77;
	ok = cot_guarded_copy(to, pages + offset, n);
	assert_int_equal(errno, 77);
	if (ok)
		assert_memory_equal(to, pages + offset, n);
	else
		assert_int_equal(to[0], 1);
	assert_int_equal(to[n], 1);
	return ok;
}

static void reads_what_is_there(void **state)
{
	size_t offset;

	(void)state;
	for (offset = PAGE; offset < PAGE + 24; offset++)
		assert_true(reads(offset, 1) && reads(offset, 32) && reads(offset, PAGE));
	assert_true(reads(3 * PAGE - 1, 1));
	assert_true(reads(3 * PAGE - 4, 4));
	assert_true(reads(3 * PAGE - 32, 32));
}

static void refuses_what_is_not(void **state)
{
	size_t before;

	(void)state;
	assert_false(reads(PAGE - 1, 1));
	assert_false(reads(PAGE - 1, 2));
	assert_false(reads(3 * PAGE, 1));
	for (before = 1; before < 32; before++) {
		assert_false(reads(PAGE - before, 32));
		assert_false(reads(3 * PAGE - before, 32));
	}
	assert_false(cot_guarded_copy(pages, (void *)(uintptr_t)8, 32));
	assert_false(cot_guarded_copy(pages, NULL, 8));
	assert_false(cot_guarded_copy(pages, (void *)(UINTPTR_MAX - 7), 8));
}

/* The way it is found out leaves the signals as they are. */
static void leaves_signals_alone(void **state)
{
	sigset_t before, after;

	(void)state;
	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	sigprocmask(SIG_BLOCK, NULL, &before);
	assert_true(reads(PAGE, 32));
	assert_false(reads(0, 32));
	sigprocmask(SIG_BLOCK, NULL, &after);
	assert_memory_equal(&before, &after, sizeof(before));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_what_is_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_what_is_not, set_up, tear_down),
		cmocka_unit_test_setup_teardown(leaves_signals_alone, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
