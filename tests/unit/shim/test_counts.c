/* What the shim counts, and what the daemon hears of it. The unit is in a shared library. */
#include "guest/shim/counts.c"
#include "test.h"

#define HEADER sizeof(struct cot_msg_work_counts)
#define ONE    sizeof(struct cot_work_reason)

static union {
	struct cot_msg_work_counts m;
	unsigned char bytes[HEADER + (COT_PROTO_REASONS_MAX + 8) * ONE];
} packet;
static unsigned n_wakes, n_logged;

void cot_log(enum cot_log_level level, const char *fmt, ...)
{
	assert_int_equal(level, COT_LOG_INFO);
	assert_non_null(strstr(fmt, "left as it is"));
	n_logged++;
}

void cot_shim_wake(void)
{
	n_wakes++;
}

static int set_up(void **state)
{
	(void)state;
	memset(&counts, 0, sizeof(counts));
	resting = false;
	n_wakes = n_logged = 0;
	return 0;
}

static size_t fill(bool always)
{
	memset(&packet, 0xff, sizeof(packet));
	return cot_shim_counts_fill(&packet, HEADER + COT_PROTO_REASONS_MAX * ONE, always);
}

static void expect_reason(unsigned i, const char *name, uint64_t n)
{
	assert_true(i < packet.m.n_reasons);
	assert_string_equal(packet.m.reasons[i].name, name);
	assert_int_equal(packet.m.reasons[i].n_kernels, n);
}

static void expect_counts(unsigned rewritten, unsigned refused, unsigned workers, unsigned plain)
{
	assert_int_equal(packet.m.n_rewritten, rewritten);
	assert_int_equal(packet.m.n_refused, refused);
	assert_int_equal(packet.m.n_launched_workers, workers);
	assert_int_equal(packet.m.n_launched_plain, plain);
}

static void what_was_done(void **state)
{
	(void)state;
	assert_int_equal(fill(true), HEADER);
	expect_counts(0, 0, 0, 0);
	cot_shim_count_rewritten(5);
	cot_shim_count_refused(COT_REASON_SPIN);
	cot_shim_count_refused(COT_REASON_SPIN);
	cot_shim_count_refused(COT_N_REASONS); /* for none of them */
	cot_shim_count_workers();
	cot_shim_count_workers();
	cot_shim_count_workers();
	cot_shim_count_plain(COT_SHIM_WHY_SMALL);
	cot_shim_count_why(COT_SHIM_WHY_NO_PTX);
	cot_shim_count_why(COT_SHIM_WHY_NO_PTX);
	assert_int_equal(fill(false), HEADER + 3 * ONE);
	expect_counts(5, 3, 3, 1);
	assert_int_equal(packet.m.n_reasons, 3);
	expect_reason(0, "spin", 2);
	expect_reason(1, "image-no-ptx", 2);
	expect_reason(2, "launch-small", 1);
	assert_int_equal(n_logged, 2); /* once for each */
}

/* The first and the last of both lists. */
static void every_reason(void **state)
{
	(void)state;
	cot_shim_count_refused(COT_REASON_NONE);
	cot_shim_count_refused(COT_REASON_NONE + 1);
	cot_shim_count_refused(COT_N_REASONS - 1);
	cot_shim_count_why(COT_SHIM_WHY_NOT + 1);
	cot_shim_count_why(COT_SHIM_N_WHYS - 1);
	assert_int_equal(fill(true), HEADER + 4 * ONE);
	expect_reason(0, cot_reason_name(COT_REASON_NONE + 1), 1);
	expect_reason(1, cot_reason_name(COT_N_REASONS - 1), 1);
	expect_reason(2, "image-no-ptx", 1);
	expect_reason(3, "merge-late", 1);
}

/* As many as a packet may have, and as fit. */
static void many_reasons(void **state)
{
	unsigned i;

	(void)state;
	for (i = 1; i < COT_N_REASONS; i++)
		cot_shim_count_refused(i);
	for (i = COT_SHIM_WHY_NOT + 1; i < COT_SHIM_N_WHYS; i++)
		cot_shim_count_why(i);
	assert_true(COT_N_REASONS - 1 + COT_SHIM_N_WHYS - 1 > COT_PROTO_REASONS_MAX);
	assert_int_equal(cot_shim_counts_fill(&packet, sizeof(packet), true),
			 HEADER + COT_PROTO_REASONS_MAX * ONE);
	assert_int_equal(packet.m.n_reasons, COT_PROTO_REASONS_MAX);
	assert_int_equal(fill(true), HEADER + COT_PROTO_REASONS_MAX * ONE);
	assert_int_equal(cot_shim_counts_fill(&packet, HEADER + 2 * ONE, true), HEADER + 2 * ONE);
	assert_int_equal(cot_shim_counts_fill(&packet, HEADER + 2 * ONE - 1, true), HEADER + ONE);
	expect_reason(0, cot_reason_name(COT_REASON_NONE + 1), 1);
}

static void count_one(unsigned kind)
{
	switch (kind) {
	case 0:
		cot_shim_count_rewritten(1);
		break;
	case 1:
		cot_shim_count_refused(COT_N_REASONS);
		break;
	case 2:
		cot_shim_count_workers();
		break;
	default:
		cot_shim_count_plain(COT_SHIM_WHY_BUSY);
	}
}

/* Each kind of count is told, alone and with another; and it is told once. */
static void changes(void **state)
{
	unsigned i, k;

	(void)state;
	assert_true(cot_shim_counts_changed()); /* nothing was ever told */
	assert_int_equal(fill(false), HEADER);
	for (i = 0; i < 4; i++) {
		for (k = i; k < 4; k++) {
			assert_false(cot_shim_counts_changed());
			assert_int_equal(fill(false), 0);
			assert_int_not_equal(fill(true), 0);
			count_one(i);
			if (k != i)
				count_one(k);
			assert_true(cot_shim_counts_changed());
			assert_int_not_equal(fill(false), 0);
		}
	}
}

/* A launch that is left as it is may be all that happens: the listener is woken, once. */
static void somebody_has_to_look(void **state)
{
	(void)state;
	cot_shim_count_plain(COT_SHIM_WHY_BUSY);
	assert_int_equal(n_wakes, 0);
	cot_shim_counts_rest();
	cot_shim_count_why(COT_SHIM_WHY_BUSY);
	assert_int_equal(n_wakes, 0);
	cot_shim_count_plain(COT_SHIM_WHY_BUSY);
	cot_shim_count_plain(COT_SHIM_WHY_BUSY);
	assert_int_equal(n_wakes, 1);
	cot_shim_counts_rest();
	cot_shim_count_plain(COT_SHIM_WHY_BUSY);
	assert_int_equal(n_wakes, 2);
}

/* Launches on the CPU are told with the pace; those that did not get there with their reason. */
static void on_the_cpu(void **state)
{
	struct cot_msg_pace_counts pace;

	(void)state;
	(void)fill(true);
	assert_int_equal(cot_shim_counts_fill_pace(&pace, true), 0);
	cot_shim_count_cpu(COT_SHIM_WHY_NOT, 300);
	cot_shim_count_cpu(COT_SHIM_WHY_NOT, 400);
	assert_true(cot_shim_counts_changed());
	assert_int_equal(fill(false), 0);
	assert_int_equal(cot_shim_counts_fill_pace(&pace, false), sizeof(pace));
	assert_int_equal(pace.n_cpu, 2);
	assert_int_equal(pace.cpu_ns, 700);
	assert_int_equal(pace.n_cpu_not, 0);
	assert_int_equal(cot_shim_counts_fill_pace(&pace, false), 0);
	cot_shim_count_cpu(COT_SHIM_WHY_CPU_BUSY, 500);
	assert_int_equal(fill(false), HEADER + ONE);
	expect_reason(0, "cpu-busy", 1);
	assert_int_equal(cot_shim_counts_fill_pace(&pace, false), sizeof(pace));
	assert_int_equal(pace.n_cpu_not, 1);
	assert_int_equal(pace.cpu_ns, 700);
}

/* So are waits of requests, where nothing else happens. */
static void waits_for_the_gpu(void **state)
{
	struct cot_msg_pace_counts pace;

	(void)state;
	(void)fill(true);
	cot_shim_count_gpu_wait(300);
	cot_shim_count_gpu_wait(0);
	assert_true(cot_shim_counts_changed());
	assert_int_equal(cot_shim_counts_fill_pace(&pace, false), sizeof(pace));
	assert_int_equal(pace.n_gpu_waits, 2);
	assert_int_equal(pace.gpu_wait_ns, 300);
	assert_false(cot_shim_counts_changed());
	assert_int_equal(cot_shim_counts_fill_pace(&pace, false), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_was_done, set_up),
		cmocka_unit_test_setup(every_reason, set_up),
		cmocka_unit_test_setup(many_reasons, set_up),
		cmocka_unit_test_setup(changes, set_up),
		cmocka_unit_test_setup(somebody_has_to_look, set_up),
		cmocka_unit_test_setup(on_the_cpu, set_up),
		cmocka_unit_test_setup(waits_for_the_gpu, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
