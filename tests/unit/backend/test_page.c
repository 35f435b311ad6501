/* Slots of launches: each change by one side only, and whoever is too late knows it. */
#include <pthread.h>
#include <string.h>

#include "backend/backend.h"
#include "test.h"

static struct cot_backend_page page;
static const struct cot_backend_launch launch = {.kernel = 3,
						 .grid = {4, 2, 1},
						 .block = {32, 1, 1},
						 .params_bytes = 8,
						 .params = {1, 2, 3}};

static int setup(void **state)
{
	(void)state;
	memset(&page, 0, sizeof(page));
	return 0;
}

static void a_launch_is_made(void **state)
{
	struct cot_backend_launch got;
	uint64_t posted, taken;
	int at = cot_backend_post(&page, &launch, &posted);
	struct cot_backend_slot *s = &page.slots[at];

	(void)state;
	assert_true(at >= 0);
	assert_int_equal(cot_backend_look(s, posted), COT_BACKEND_POSTED);
	assert_true(cot_backend_take(s, &got, &taken));
	assert_memory_equal(&got, &launch, offsetof(struct cot_backend_launch, params) + 8);
	assert_int_equal(cot_backend_blocks(&got), 8);
	assert_false(cot_backend_take(s, &got, &taken));
	assert_true(cot_backend_begin(s, taken));
	assert_false(cot_backend_withdraw(s, posted)); /* too late */
	cot_backend_launched(s, taken, 17, 2);
	assert_int_equal(cot_backend_look(s, posted), COT_BACKEND_LAUNCHED);
	assert_int_equal(s->number, 17);
	cot_backend_clear(s, posted);
	assert_int_equal(cot_backend_look(s, posted), COT_BACKEND_FREE);
}

static void withdrawn_ones_are_not_made(void **state)
{
	struct cot_backend_launch got;
	uint64_t posted, taken, next;
	int at = cot_backend_post(&page, &launch, &posted);
	struct cot_backend_slot *s = &page.slots[at];

	(void)state;
	assert_true(cot_backend_take(s, &got, &taken));
	assert_true(cot_backend_withdraw(s, posted));
	/* The slot has the next launch already: the old word means nothing. */
	assert_int_equal(cot_backend_post(&page, &launch, &next), at);
	assert_false(cot_backend_begin(s, taken));
	cot_backend_give_back(s, taken, COT_BACKEND_WHY_ALONE);
	assert_int_equal(cot_backend_look(s, next), COT_BACKEND_POSTED);
	assert_int_equal(cot_backend_look(s, posted), COT_BACKEND_FREE);
	assert_true(cot_backend_take(s, &got, &taken));
	assert_true(cot_backend_begin(s, taken));
	cot_backend_give_back(s, taken, COT_BACKEND_WHY_REFUSED); /* by the driver */
	assert_int_equal(cot_backend_look(s, next), COT_BACKEND_BACK);
	assert_int_equal(s->why, COT_BACKEND_WHY_REFUSED);
}

static void slots_are_counted(void **state)
{
	uint64_t word;
	unsigned i;

	(void)state;
	for (i = 0; i < COT_BACKEND_SLOTS; i++)
		assert_int_equal(cot_backend_post(&page, &launch, &word), i);
	assert_int_equal(cot_backend_post(&page, &launch, &word), -1);
}

static void unsound_ones_go_back(void **state)
{
	static const struct cot_backend_launch bad[] = {
		{.kernel = COT_BACKEND_KERNELS, .grid = {1, 1, 1}, .block = {1, 1, 1}},
		{.grid = {0, 1, 1}, .block = {1, 1, 1}},
		{.grid = {1, 1, 0}, .block = {1, 1, 1}},
		{.grid = {65536, 65536, 1}, .block = {1, 1, 1}},
		{.grid = {60000, 1, 60000}, .block = {1, 1, 1}},
		{.grid = {1, 1, 1}, .block = {1, 0, 1}},
		{.grid = {1, 1, 1}, .block = {1u << 31, 2, 1}},
		{.grid = {1, 1, 1}, .block = {32, 32, 2}},
	};
	struct cot_backend_launch got;
	uint64_t posted, taken;
	unsigned i;
	int at;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		at = cot_backend_post(&page, &bad[i], &posted);
		assert_false(cot_backend_take(&page.slots[at], &got, &taken));
		assert_int_equal(cot_backend_look(&page.slots[at], posted), COT_BACKEND_BACK);
		cot_backend_clear(&page.slots[at], posted);
	}
	/* A number of bytes that was changed afterwards. */
	at = cot_backend_post(&page, &launch, &posted);
	page.slots[at].launch.params_bytes = COT_BACKEND_PARAMS + 1;
	assert_false(cot_backend_take(&page.slots[at], &got, &taken));
}

/* A program that withdraws at any time, and a backend: each launch is made by exactly one of them.
 */
enum { LAUNCHES = 20000 };
static _Atomic unsigned by_backend, by_program;
static _Atomic bool over;

static void *play_backend(void *arg)
{
	struct cot_backend_launch got;
	uint64_t taken;
	unsigned i;

	while (!over)
		for (i = 0; i < COT_BACKEND_SLOTS; i++) {
			if (!cot_backend_take(&page.slots[i], &got, &taken) ||
			    !cot_backend_begin(&page.slots[i], taken))
				continue;
			by_backend++;
			cot_backend_launched(&page.slots[i], taken, by_backend, 1);
		}
	return arg;
}

static void each_is_made_once(void **state)
{
	unsigned i, said = 0;
	pthread_t backend;
	uint64_t word;

	(void)state;
	assert_int_equal(pthread_create(&backend, NULL, play_backend, NULL), 0);
	for (i = 0; i < LAUNCHES; i++) {
		struct cot_backend_slot *s = &page.slots[cot_backend_post(&page, &launch, &word)];

		if (i % 3 && cot_backend_withdraw(s, word)) {
			by_program++;
			continue;
		}
		while (cot_backend_look(s, word) != COT_BACKEND_LAUNCHED)
			;
		cot_backend_clear(s, word);
		said++;
	}
	over = true;
	pthread_join(backend, NULL);
	assert_int_equal(by_program + by_backend, LAUNCHES);
	assert_int_equal(said, by_backend);
}

static void messages_are_checked(void **state)
{
	struct cot_backend_message m = {.type = COT_BACKEND_MAP, .version = COT_BACKEND_VERSION};
	uint64_t window = cot_backend_window(2);

	(void)state;
	m.memory.at = window + COT_BACKEND_CHUNK_BYTES;
	m.memory.bytes = COT_BACKEND_CHUNK_BYTES;
	assert_true(cot_backend_message_is_sound(&m, sizeof(m), window));
	assert_false(cot_backend_message_is_sound(&m, sizeof(m) - 1, window));
	assert_false(cot_backend_message_is_sound(&m, sizeof(m), cot_backend_window(3)));
	assert_false(cot_backend_message_is_sound(&m, sizeof(m), 0)); /* before WELCOME */
	m.memory.bytes = COT_BACKEND_WINDOW_BYTES;
	assert_false(cot_backend_message_is_sound(&m, sizeof(m), window));
	m.memory.bytes = COT_BACKEND_CHUNK_BYTES + 1;
	assert_false(cot_backend_message_is_sound(&m, sizeof(m), window));
	m = (struct cot_backend_message){.type = COT_BACKEND_KERNEL,
					 .version = COT_BACKEND_VERSION,
					 .kernel = {1, 1, "mix"}};
	assert_true(cot_backend_message_is_sound(&m, sizeof(m), window));
	memset(m.kernel.name, 'x', sizeof(m.kernel.name));
	assert_false(cot_backend_message_is_sound(&m, sizeof(m), window));
	m.type = COT_BACKEND_HELLO;
	memset(m.hello.pool, 0, sizeof(m.hello.pool));
	assert_true(cot_backend_message_is_sound(&m, sizeof(m), 0));
	assert_false(cot_backend_message_is_sound(&m, sizeof(m), window)); /* a second time */
	m.version++;
	assert_false(cot_backend_message_is_sound(&m, sizeof(m), 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_launch_is_made, setup),
		cmocka_unit_test_setup(withdrawn_ones_are_not_made, setup),
		cmocka_unit_test_setup(slots_are_counted, setup),
		cmocka_unit_test_setup(unsound_ones_go_back, setup),
		cmocka_unit_test_setup(each_is_made_once, setup),
		cmocka_unit_test(messages_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
