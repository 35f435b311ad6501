/* The contract suite over every registered scheduler, and over schedulers that must not pass. */
#include <string.h>

#include "policy/broken_scheds.h"
#include "test.h"

static const char *first_text(const struct contract_report *r)
{
	unsigned i;

	for (i = 0; i < CONTRACT_CLAUSES; i++)
		if (r->broken & 1u << i)
			return r->text[i];
	return "";
}

static void every_scheduler_keeps_the_contract(void **state)
{
	struct contract_report r;
	unsigned i;

	(void)state;
	for (i = 0; i < hw_n_scheds; i++) {
		contract_run(hw_scheds[i], &r);
		if (r.broken)
			fail_msg("%s: clauses 0x%x: %s", hw_scheds[i]->name, r.broken,
				 first_text(&r));
	}
}

static void broken_schedulers_are_caught(void **state)
{
	struct contract_report r;
	unsigned i;

	(void)state;
	for (i = 0; i < n_broken_scheds; i++) {
		contract_run(broken_scheds[i].ops, &r);
		if (!(r.broken & 1u << broken_scheds[i].clause))
			fail_msg("%s is not caught: clauses 0x%x: %s", broken_scheds[i].ops->name,
				 r.broken, first_text(&r));
	}
}

/* The registry is what users type and what `cotenant list` shows. */
static void the_registry_is_sound(void **state)
{
	unsigned i, j;

	(void)state;
	assert_true(hw_n_scheds >= 6);
	for (i = 0; i < hw_n_scheds; i++) {
		const struct hw_sched_ops *ops = hw_scheds[i];

		assert_non_null(ops->schedule);
		assert_true(strlen(ops->name) > 0 && strlen(ops->name) < COT_NAME_MAX);
		assert_true(strlen(ops->summary) > 0);
		assert_true(ops->state_bytes <= HW_STATE_MAX);
		assert_ptr_equal(hw_sched_find(ops->name), ops);
		for (j = 0; j < i; j++)
			assert_string_not_equal(ops->name, hw_scheds[j]->name);
	}
	assert_null(hw_sched_find("broken-lazy"));
	assert_null(hw_sched_find(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_registry_is_sound),
		cmocka_unit_test(every_scheduler_keeps_the_contract),
		cmocka_unit_test(broken_schedulers_are_caught),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
