/* Requests that a program marks: they reach the ring of the daemon that is there. */
#include <string.h>
#include <unistd.h>

#include "guest/marks.c"
#include "test.h"

#define NOW (100 * COT_NS_PER_S)

static uint64_t now_ns = NOW;
static struct cot_ring_reader readers[2];
static struct cot_ring_request got[COT_RING_ENTRIES];

uint64_t cot_now_ns(void)
{
	return now_ns;
}

static int start(void **state)
{
	(void)state;
	cot_marks_forget();
	memset(readers, 0, sizeof(readers));
	atomic_store(&kept.n_dropped, 0);
	atomic_store(&kept.n_unclear, 0);
	return 0;
}

/* What a daemon shares. */
static struct cot_ring *daemon_ring(uint32_t size)
{
	int fd = memfd_create("test", 0);
	char *p;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, COT_RING_MAPPING), 0);
	p = mmap(NULL, COT_RING_MAPPING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(p != MAP_FAILED);
	cot_marks_attach(fd, size);
	close(fd);
	return (struct cot_ring *)(p + COT_RING_OFFSET);
}

static unsigned look(struct cot_ring *r, unsigned daemon)
{
	return cot_ring_read(r, &readers[daemon], cot_ring_head(r), now_ns, got, COT_RING_ENTRIES);
}

static void mark(uint64_t id, uint64_t ns)
{
	cot_marks_begin(id, NOW - ns - 5, NOW - ns);
	cot_marks_end(id, NOW);
}

static void requests_that_overlap(void **state)
{
	struct cot_ring *r = daemon_ring(COT_RING_MAPPING);

	(void)state;
	cot_marks_begin(7, 0, NOW - 70);
	cot_marks_begin(UINT64_MAX, NOW - 65, NOW - 60);
	cot_marks_begin(0, NOW - 55, NOW - 50);
	cot_marks_end(UINT64_MAX, NOW - 40);
	cot_marks_end(7, NOW - 30);
	cot_marks_end(0, NOW - 20);
	assert_int_equal(look(r, 0), 3);
	assert_int_equal(got[0].arrival_ns, NOW - 65);
	assert_int_equal(got[0].begin_ns, NOW - 60);
	assert_int_equal(got[0].end_ns, NOW - 40);
	assert_int_equal(got[1].arrival_ns, 0);
	assert_int_equal(got[1].begin_ns, NOW - 70);
	assert_int_equal(got[2].end_ns, NOW - 20);
	assert_int_equal(atomic_load(&r->n_dropped), 0);
}

static void wrong_marks(void **state)
{
	struct cot_ring *r = daemon_ring(COT_RING_MAPPING);
	uint64_t id;

	(void)state;
	cot_marks_end(1, NOW); /* has not begun */
	cot_marks_begin(2, 0, NOW - 9);
	cot_marks_begin(2, 0, NOW - 5); /* anew */
	cot_marks_end(2, NOW);
	cot_marks_end(2, NOW); /* has ended already */
	assert_int_equal(look(r, 0), 1);
	assert_int_equal(got[0].begin_ns, NOW - 5);
	assert_int_equal(atomic_load(&r->n_dropped), 2);
	for (id = 0; id < 10 * N_SLOTS; id++) /* never end */
		cot_marks_begin(id, 0, NOW - 1);
	for (id = 0; id < 10 * N_SLOTS; id++)
		cot_marks_end(id, NOW);
	assert_int_equal(cot_ring_head(r) - 1 + atomic_load(&r->n_dropped) - 2, 10 * N_SLOTS);
	assert_true(cot_ring_head(r) - 1 > N_SLOTS * 3 / 4);
	look(r, 0);
	for (id = 0; id < 300; id++) /* and the places are free again */
		cot_marks_begin(id * 64, 0, NOW - 1);
	for (id = 0; id < 300; id++)
		cot_marks_end(id * 64, NOW);
	assert_int_equal(look(r, 0), 300);
}

/* What is marked while no daemon is there reaches the next one; no ring is pulled away. */
static void daemons_come_and_go(void **state)
{
	struct cot_ring *a, *b, *old;

	(void)state;
	mark(1, 10);
	cot_marks_end(99, NOW);
	a = daemon_ring(COT_RING_MAPPING);
	assert_int_equal(atomic_load(&a->n_dropped), 1);
	mark(2, 20);
	assert_int_equal(look(a, 0), 2);
	assert_int_equal(got[0].begin_ns, NOW - 10);
	assert_int_equal(got[1].begin_ns, NOW - 20);
	old = atomic_load(&ring);
	cot_marks_detach();
	mark(3, 30);
	cot_ring_put(old, &got[0]); /* a thread that was held up */
	assert_int_equal(look(a, 0), 1);
	b = daemon_ring(COT_RING_MAPPING);
	mark(4, 40);
	assert_int_equal(look(a, 0), 0);
	assert_int_equal(look(b, 1), 2);
	assert_int_equal(got[0].begin_ns, NOW - 30);
	assert_int_equal(got[1].begin_ns, NOW - 40);
	assert_int_equal(atomic_load(&b->n_dropped), 0);
}

static void page_without_a_ring(void **state)
{
	struct cot_ring *r = daemon_ring(COT_RING_MAPPING - 1);

	(void)state;
	mark(1, 10);
	assert_int_equal(look(r, 0), 0);
	assert_ptr_equal(atomic_load(&ring), &kept);
}

static void child_has_its_own(void **state)
{
	struct cot_ring *a = daemon_ring(COT_RING_MAPPING), *b;

	(void)state;
	cot_marks_begin(5, 0, NOW - 5);
	cot_marks_forget();
	cot_marks_end(5, NOW); /* the parent's */
	mark(6, 60);
	assert_int_equal(look(a, 0), 0);
	b = daemon_ring(COT_RING_MAPPING);
	assert_int_equal(look(b, 1), 1);
	assert_int_equal(got[0].begin_ns, NOW - 60);
}

/* What was seen from outside says so, goes on to the next daemon, and counts until the first mark.
 */
static void seen_until_the_first_mark(void **state)
{
	struct cot_ring *r;

	(void)state;
	cot_marks_seen(NOW - 8, NOW - 3);
	cot_marks_unclear(2);
	r = daemon_ring(COT_RING_MAPPING);
	cot_marks_unclear(3);
	cot_marks_seen(NOW - 2, NOW - 1);
	assert_int_equal(look(r, 0), 2);
	assert_true(got[0].is_burst && got[1].is_burst);
	assert_int_equal(got[0].arrival_ns, 0);
	assert_int_equal(got[0].begin_ns, NOW - 8);
	assert_int_equal(got[0].end_ns, NOW - 3);
	assert_int_equal(atomic_load(&r->n_unclear), 5);
	cot_marks_begin(1, 0, NOW - 9); /* has not ended */
	cot_marks_seen(NOW - 2, NOW - 1);
	cot_marks_unclear(1);
	cot_marks_end(1, NOW);
	assert_int_equal(look(r, 0), 1);
	assert_false(got[0].is_burst);
	assert_int_equal(atomic_load(&r->n_unclear), 5);
	cot_marks_forget(); /* the child's own */
	readers[1].next = cot_ring_head(&kept);
	cot_marks_seen(NOW - 2, NOW - 1);
	assert_int_equal(look(&kept, 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(requests_that_overlap, start),
		cmocka_unit_test_setup(wrong_marks, start),
		cmocka_unit_test_setup(daemons_come_and_go, start),
		cmocka_unit_test_setup(page_without_a_ring, start),
		cmocka_unit_test_setup(child_has_its_own, start),
		cmocka_unit_test_setup(seen_until_the_first_mark, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
