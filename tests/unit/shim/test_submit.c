/* What goes into the program's stream when a launch becomes workers, and what follows it. */
#include "shim_launch_stage.h"

/* ---- what goes into the stream ---- */

static void workers_for_what_is_granted(void **state)
{
	(void)state;
	slot.armed = 24;
	assert_int_equal(launch(), 0);
	expect_done("slot for 24;launch 12 of 512,1,1+0 in s with 11,22;record end in s;watch;");
	assert_int_equal(needed.n_tasks, 100);
	assert_int_equal(needed.per_sm, 4);
	assert_ptr_equal(needed.stream, STREAM);
	assert_int_equal(needed.thread, 0);
	assert_int_equal(launched.n_workers, 12);
	assert_int_equal(launched.n_tasks, 100);
	assert_int_equal(launched.n_sms, N_SMS);
	assert_true(launched.control == slot.control);
	assert_int_equal(slot.n_units, 3);
	assert_ptr_equal(slot.work, &work);
	assert_ptr_equal(slot.ref, &ref);
	assert_ptr_equal(slot.handle, FUNCTION);
	assert_false(slot.original || slot.settled || slot.timed || slot.anywhere || slot.flag);
	assert_int_equal(slot.state, COT_SHIM_SLOT_RUNNING);
	assert_int_equal(n_counted_workers, 1);
}

/* On a part or not, workers are at home, and nobody waits within that turn. */
static void workers_are_at_home(void **state)
{
	(void)state;
	atomic_store(&cot_shim_parts_live, COT_SHIM_LIVE);
	slot.armed = 24;
	assert_int_equal(launch(), 0);
	expect_done(
		"slot for 24;go home;launch 12 of 512,1,1+0 in s with 11,22;record end in s;leave;"
		"watch;");
	launch_result = 5;
	assert_int_equal(launch(), 0);
	assert_non_null(strstr(written, "leave;give used slot;put;plain;"));
	assert_true(ref.broken);
}

/* Before anything else a launch waits for the end of a hold. */
static void workers_are_held(void **state)
{
	(void)state;
	atomic_store(&cot_shim_parts_live, COT_SHIM_WATCHED);
	slot.armed = 24;
	assert_int_equal(launch(), 0);
	expect_done("hold;slot for 24;go home;launch 12 of 512,1,1+0 in s with 11,22;record end in "
		    "s;leave;watch;");
}

static void expect_begun(uint32_t n_workers)
{
	assert_int_equal(launch(), 0);
	assert_int_equal(launched.n_workers, n_workers);
	assert_int_equal(counted, COT_SHIM_WHY_NOT);
}

/* A control block that is ready for something else is written in the stream, before the workers. */
static void the_control_block_is_made_ready(void **state)
{
	(void)state;
	slot.armed = 23;
	assert_int_equal(launch(), 0);
	expect_done("slot for 24;write 24 at 0 in s;launch 12 of 512,1,1+0 in s with 11,22;"
		    "record end in s;watch;");
	assert_int_equal(slot.armed, 24);
}

/* More CapSMs than SMs are not used; what was evicted is not there. */
static void as_many_as_there_are(void **state)
{
	(void)state;
	config.grid[0] = 1000;
	work.capsms = 3 * N_SMS;
	expect_begun(4 * N_SMS);
	work.capsms = N_SMS - 1;
	expect_begun(4 * (N_SMS - 1));
	work.evicted = 7;
	expect_begun(4 * 2);
	assert_int_equal(slot.n_units, 2);
	config.grid[0] = 10;
	config.grid[1] = 10;
	config.grid[2] = 3;
	expect_begun(8);
	assert_int_equal(needed.n_tasks, 300);
	assert_int_equal(launched.n_tasks, 300);
}

/* Blocks and their memory are the program's. */
static void shapes(void **state)
{
	(void)state;
	config.block[0] = 8;
	config.block[1] = 4;
	config.block[2] = 2;
	config.sharedMemBytes = 96;
	assert_int_equal(launch(), 0);
	assert_non_null(strstr(written, " of 8,4,2+96 in s with"));
	with_attributes = true;
	config.attrs = attributes;
	config.numAttrs = 1;
	written[0] = '\0';
	assert_int_equal(launch(), 0);
	assert_non_null(strstr(written, " of 8,4,2+96 in s with"));
}

/* The last CapSM may be in use in part only. */
static void units(void **state)
{
	static const unsigned rows[][2] = {{12, 3}, {11, 3}, {9, 3}, {8, 2}, {5, 2}};
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		config.grid[0] = rows[i][0];
		expect_begun(launched.n_workers);
		assert_int_equal(slot.args.n_workers, rows[i][0]);
		assert_int_equal(slot.n_units, rows[i][1]);
	}
}

/* As many tasks at a time as their duration says. */
static void chunks(void **state)
{
	(void)state;
	config.grid[0] = 10000;
	atomic_store(&ref.task_ns, 1000);
	expect_begun(12);
	assert_int_equal(launched.chunk, cot_workers_chunk(10000, 12, 1000));
	atomic_store(&ref.task_ns, 100000);
	expect_begun(12);
	assert_int_equal(launched.chunk, cot_workers_chunk(10000, 12, 100000));
	assert_int_not_equal(cot_workers_chunk(10000, 12, 1000),
			     cot_workers_chunk(10000, 12, 100000));
	written[0] = '\0';
	slot.armed = 0;
	(void)launch();
	assert_non_null(strstr(written, "write 12 at 0 in s;"));
	atomic_store(&ref.task_ns, 1000);
	written[0] = '\0';
	(void)launch();
	assert_int_equal(slot.armed, 12 * launched.chunk);
}

/* The measured time of a task goes along, and a launch now and then is measured. */
static void times(void **state)
{
	(void)state;
	timed = true;
	atomic_store(&ref.task_ns, 77);
	slot.armed = 0;
	assert_int_equal(launch(), 0);
	assert_non_null(strstr(written, "record begin in s;launch"));
	assert_true(slot.timed);
	assert_int_equal(needed.task_ns, 77);
	written[0] = '\0';
	record_fails = true;
	assert_int_equal(launch(), 0);
	assert_false(slot.timed);
	/* Without an event nobody would see the end. */
	assert_non_null(strstr(written, "record end in s;sync s;watch;"));
}

/* The default streams by their names, whichever entry point was called. */
static void default_streams(void **state)
{
	(void)state;
	config.hStream = NULL;
	slot.armed = 24;
	assert_int_equal(launch(), 0);
	expect_done("slot for 24;launch 12 of 512,1,1+0 in legacy with 11,22;"
		    "record end in legacy;watch;");
	assert_int_equal(needed.thread, 0);
	per_thread = true;
	assert_int_equal(launch(), 0);
	expect_done("slot for 24;launch 12 of 512,1,1+0 in thread with 11,22;"
		    "record end in thread;watch;");
	assert_ptr_equal(needed.stream, CU_STREAM_PER_THREAD);
	assert_int_equal(needed.thread, (uint64_t)pthread_self());
	assert_int_equal(n_stream_asked, 0);
}

/* A stream of another context is left alone; what is known of one is not asked again. */
static void streams_of_contexts(void **state)
{
	(void)state;
	config.hStream = HANDLE(0x7f1234560310);
	(void)launch();
	(void)launch();
	assert_int_equal(n_stream_asked, 1);
	written[0] = '\0';
	context_of_stream = HANDLE(0x401);
	(void)launch();
	written[0] = '\0';
	config.hStream = HANDLE(0x320);
	expect_plain(COT_SHIM_WHY_CONTEXT);
	expect_plain(COT_SHIM_WHY_CONTEXT);
	assert_int_equal(n_stream_asked, 3);
	context_of_stream = CONTEXT;
	assert_int_equal(launch(), 0);
}

/* With attributes, they go along. */
static void with_a_configuration(void **state)
{
	(void)state;
	with_attributes = true;
	config.attrs = attributes;
	config.numAttrs = 1;
	config.grid[0] = 50;
	config.grid[1] = 2;
	slot.armed = 24;
	assert_int_equal(launch(), 0);
	expect_done("slot for 24;ex launch 12 of 512,1,1+0 in s with 11,22;record end in s;watch;");
	assert_int_equal(config.grid[1], 2); /* the program's own stays */
	config.hStream = NULL;
	assert_int_equal(launch(), 0);
	expect_done("slot for 24;ex launch 12 of 512,1,1+0 in legacy with 11,22;"
		    "record end in legacy;watch;");
}

/* ---- what the driver refuses ---- */

/* It takes the program's own: the workers are to blame, and not tried again. */
static void refused_workers(void **state)
{
	(void)state;
	launch_result = 5;
	slot.armed = 24;
	assert_int_equal(launch(), 0);
	expect_done("slot for 24;launch 12 of 512,1,1+0 in s with 11,22;give used slot;put;"
		    "plain;");
	assert_true(ref.broken);
	assert_int_equal(counted, COT_SHIM_WHY_REFUSED);
	assert_int_equal(n_counted_workers, 0);
	expect_plain(COT_SHIM_WHY_REFUSED);
}

/* Before its launch: nothing was launched, and the program's own is. */
static void nothing_to_launch_with(void **state)
{
	(void)state;
	fails = "events";
	timed = true;
	assert_int_equal(launch(), 0);
	expect_done("slot for 24;give used slot;put;plain;");
	fails = "write";
	ref.broken = false;
	assert_int_equal(launch(), 0);
	expect_done("slot for 24;write 24 at 0 in s;give used slot;put;plain;");
	assert_false(slot.timed);
	assert_int_equal(counted, COT_SHIM_WHY_REFUSED);
}

/* It does not take that either: the program gets its error, and the workers are tried again. */
static void refused_altogether(void **state)
{
	(void)state;
	launch_result = 5;
	plain_result = 6;
	assert_int_equal(launch(), 6);
	assert_false(ref.broken);
	/* Where the program's own kernel is launched under the grant, its error is the result. */
	written[0] = '\0';
	work.capsms = N_SMS;
	config.grid[0] = 20;
	plain_result = 8;
	assert_int_equal(launch(), 8);
	expect_done("slot for 20;own;give unused slot;put;");
	assert_false(ref.broken);
}

/* ---- control blocks ---- */

/* All are in use: it waits, with a bound. */
static void waits_for_a_slot(void **state)
{
	(void)state;
	slot.armed = 24;
	n_slots_missing = 3;
	assert_int_equal(launch(), 0);
	assert_int_equal(n_counted_workers, 1);
	assert_int_equal(now_ns, COT_NS_PER_S + 3 * COT_NS_PER_S / 2);
	written[0] = '\0';
	n_slots_missing = 5;
	assert_int_equal(launch(), 0);
	assert_int_equal(counted, COT_SHIM_WHY_BUSY);
	expect_done("slot for 24;slot for 24;slot for 24;slot for 24;slot for 24;put;plain;");
}

static void evict_all(void)
{
	work.evicted = work.capsms;
}

static void evict_one(void)
{
	work.evicted = 1;
}

static void close_context(void)
{
	context.closing = true;
}

/* What is taken back meanwhile is not used. */
static void evicted_while_it_waits(void **state)
{
	(void)state;
	slot.armed = 24;
	n_slots_missing = 1;
	at_wait = evict_one;
	assert_int_equal(launch(), 0);
	assert_int_equal(launched.n_workers, 8);
	work.evicted = 0;
	n_slots_missing = 1;
	at_wait = evict_all;
	written[0] = '\0';
	assert_int_equal(launch(), 0);
	expect_done("slot for 24;slot for 24;give unused slot;put;plain;");
	assert_int_equal(counted, COT_SHIM_WHY_BUSY);
	work.evicted = 0;
	n_slots_missing = 2;
	at_wait = close_context;
	assert_int_equal(launch(), 0);
	expect_done("slot for 24;slot for 24;put;plain;");
}

/* ---- settled works ---- */

static unsigned n_ends;

/* All workers leave from the first launch, with 40 tasks done; the second one does the rest. */
static void leave_once(void)
{
	if (n_ends++)
		return;
	assert_int_equal(slot.state, COT_SHIM_SLOT_RUNNING);
	slot.flag = slot.n_units;
	host_copy.next = 40;
	host_copy.done = 40;
	host_copy.ended = slot.args.n_workers;
}

static void granted_more(void)
{
	assert_int_equal(slot.state, COT_SHIM_SLOT_HELD);
	work.capsms = 5;
	work.evicted = 0;
}

static void prepare_settled(void)
{
	work.flags |= COT_WORK_SETTLED;
	memset(&host_copy, 0, sizeof(host_copy));
	slot.armed = 24;
	n_ends = 0;
}

/* The launch returns when its kernel has ended. */
static void settled(void **state)
{
	(void)state;
	prepare_settled();
	assert_int_equal(launch(), 0);
	expect_done("slot for 24;launch 12 of 512,1,1+0 in s with 11,22;record end in s;watch;"
		    "await;ended;");
	assert_true(slot.settled);
}

/* Only some have left: the others have done everything. */
static void leave_some(void)
{
	slot.flag = slot.n_units - 1;
}

static void settled_and_evicted_in_part(void **state)
{
	(void)state;
	prepare_settled();
	at_end = leave_some;
	assert_int_equal(launch(), 0);
	expect_done("slot for 24;launch 12 of 512,1,1+0 in s with 11,22;record end in s;watch;"
		    "await;ended;");
}

static void settled_and_evicted(void **state)
{
	(void)state;
	prepare_settled();
	at_end = leave_once;
	at_wait = granted_more;
	assert_int_equal(launch(), 0);
	expect_done("slot for 24;launch 12 of 512,1,1+0 in s with 11,22;record end in s;watch;"
		    "await;read;reset;pause 60;regrant 60;"
		    "write 80 at 0 in s;launch 20 of 512,1,1+0 in s with 11,22;record end in s;"
		    "watch;await;ended;");
	assert_int_equal(launched.first, 40);
	assert_int_equal(launched.n_workers, 20);
	assert_int_equal(slot.flag, 0);
	assert_int_equal(slot.n_units, 5);
}

/* It is taken back twice, and once more. */
static void leave_again(void)
{
	assert_true(slot.settled);
	if (n_ends++ == 2)
		return;
	slot.flag = slot.n_units;
	host_copy.next = host_copy.done = 40 * n_ends;
	host_copy.ended += slot.args.n_workers;
	work.flags = 0; /* nobody would tell them to leave any more */
}

static void settled_and_evicted_twice(void **state)
{
	(void)state;
	prepare_settled();
	at_end = leave_again;
	assert_int_equal(launch(), 0);
	assert_int_equal(n_ends, 3);
	assert_non_null(strstr(written, "pause 60;regrant 60;"));
	assert_non_null(strstr(written, "pause 20;regrant 20;"));
	assert_int_equal(launched.first, 80);
	assert_non_null(strstr(written, "await;ended;"));
	assert_int_equal(slot.state, COT_SHIM_SLOT_HELD);
}

/* What is granted then, and no more than there is. */
static uint32_t rest_capsms, rest_evicted;
static enum cot_shim_work_state rest_state;

static void grant_rest(void)
{
	work.capsms = rest_capsms;
	work.evicted = rest_evicted;
	work.state = rest_state;
}

static void room_for_the_rest(void **state)
{
	static const struct {
		uint32_t capsms, evicted;
		enum cot_shim_work_state state;
		uint32_t n_workers;
	} rows[] = {
		{N_SMS + 5, 0, COT_SHIM_WORK_GRANTED, 30}, /* of 40, for two tasks each */
		{5, 3, COT_SHIM_WORK_GRANTED, 8},
		{5, 5, COT_SHIM_WORK_GRANTED, 4}, /* nothing: one all the same */
		{5, 5, COT_SHIM_WORK_LOST, 20},
	};
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		(void)set_up_latency(state);
		prepare_settled();
		at_end = leave_once;
		at_wait = grant_rest;
		rest_capsms = rows[i].capsms;
		rest_evicted = rows[i].evicted;
		rest_state = rows[i].state;
		assert_int_equal(launch(), 0);
		assert_int_equal(launched.n_workers, rows[i].n_workers);
	}
}

/* Without a look at the control block nobody knows what is left: the kernel failed. */
static void settled_and_unread(void **state)
{
	static const char *const rows[][2] = {{"read", "read;ended;"},
					      {"reset", "read;reset;ended;"}};
	unsigned i;

	for (i = 0; i < 2; i++) {
		(void)set_up_latency(state);
		prepare_settled();
		at_end = leave_once;
		fails = rows[i][0];
		assert_int_equal(launch(), 0);
		assert_string_equal(strstr(written, "await;") + 6, rows[i][1]);
	}
}

/* There is no grant any more: the rest is done with what it had last. */
static void settled_and_alone(void **state)
{
	(void)state;
	prepare_settled();
	at_end = leave_once;
	at_wait = NULL;
	regrant_result = false;
	work.state = COT_SHIM_WORK_LOST;
	assert_int_equal(launch(), 0);
	assert_non_null(strstr(written, "regrant 60;"));
	assert_int_equal(launched.first, 40);
	assert_int_equal(launched.n_workers, 12);
	assert_non_null(strstr(written, "await;ended;"));
}

/* The driver does not take the rest: the program gets its error. */
static void refuse_from_now_on(void)
{
	launch_result = 5;
	granted_more();
}

static void settled_and_refused(void **state)
{
	(void)state;
	prepare_settled();
	at_end = leave_once;
	at_wait = refuse_from_now_on;
	assert_int_equal(launch(), 5);
	assert_non_null(strstr(written, "regrant 60;write 80 at 0 in s;launch 20"));
	assert_non_null(strstr(written, ";ended;"));
	assert_null(strstr(written, "plain;"));
}

/* A control block that says nonsense: the kernel has failed, and the program will hear of that. */
static void spoil(void)
{
	slot.flag = slot.n_units;
	host_copy.next = 40;
	host_copy.done = 3;
}

static void settled_and_failed(void **state)
{
	(void)state;
	prepare_settled();
	at_end = spoil;
	assert_int_equal(launch(), 0);
	expect_done("slot for 24;launch 12 of 512,1,1+0 in s with 11,22;record end in s;watch;"
		    "await;read;ended;");
}

/* Everything was done by those who left. */
static void leave_nothing(void)
{
	slot.flag = slot.n_units;
	host_copy.next = 100;
	host_copy.done = 100;
	host_copy.ended = 12;
}

static void settled_and_complete(void **state)
{
	(void)state;
	prepare_settled();
	at_end = leave_nothing;
	assert_int_equal(launch(), 0);
	expect_done("slot for 24;launch 12 of 512,1,1+0 in s with 11,22;record end in s;watch;"
		    "await;read;ended;");
}

/* The program's own kernel cannot be made to leave: nobody waits for it. */
static void settled_originals(void **state)
{
	(void)state;
	prepare_settled();
	work.capsms = N_SMS;
	config.grid[0] = 20;
	assert_int_equal(launch(), 0);
	expect_done("slot for 20;own;record end in s;watch;");
	assert_true(slot.original);
	assert_false(slot.settled);
}

/* ---- on whole SMs ---- */

/* A batch program's: as many as the GPU holds are launched, and the surplus leaves at once. */
static void batch_workers_are_gathered(void **state)
{
	(void)state;
	assert_int_equal(launch(), 0);
	expect_done("slot for 0;to evict 7;7 leave at once;"
		    "launch 40 of 512,1,1+0 in s with 11,22;record end in s;watch;");
	assert_int_equal(launched.n_workers, 4 * N_SMS);
	assert_int_equal(launched.first, 100);
	assert_int_equal(launched.n_sms, N_SMS);
	assert_int_equal(slot.n_units, N_SMS);
	assert_int_equal(slot.surplus, 7);
	assert_int_equal(slot.flag, 7);
	assert_int_equal(slot.first, 0);
	/* What is evicted before the launch leaves as well. */
	work.evicted = 1;
	(void)launch();
	assert_int_equal(slot.flag, 8);
}

/* As many tasks as the GPU holds workers: it is not the program's own kernel all the same. */
static void gathered_one_task_each(void **state)
{
	(void)state;
	config.grid[0] = 4 * N_SMS;
	(void)launch();
	assert_false(slot.original);
	expect_done("slot for 0;to evict 7;7 leave at once;"
		    "launch 40 of 512,1,1+0 in s with 11,22;record end in s;watch;");
}

/* Those of a whole GPU, or of all tasks at once, stay as they are. */
static void not_gathered(void **state)
{
	(void)state;
	work.capsms = N_SMS;
	assert_int_equal(launch(), 0);
	assert_int_equal(slot.surplus, 0);
	assert_int_equal(launched.first, 0);
	work.capsms = 3;
	config.grid[0] = 12;
	written[0] = 0;
	assert_int_equal(launch(), 0);
	expect_done("slot for 12;own;record end in s;watch;");
	assert_int_equal(slot.surplus, 0);
	/* Others have the rest for a while. */
	config.grid[0] = 512;
	work.flags = 0;
	assert_int_equal(launch(), 0);
	assert_int_equal(slot.surplus, 0);
}

/* A latency program's stream that is a batch program's. */
static void gathered_as_it_says(void **state)
{
	(void)state;
	cot_shim_settings.class_ = COT_CLASS_LATENCY;
	(void)launch();
	assert_int_equal(slot.surplus, 0);
	said.method = COT_PROTO_WORK_QUOTA;
	(void)launch();
	assert_int_equal(slot.surplus, 7);
}

/* The rest of an evicted one, on what is granted then. */
static void the_rest_is_gathered(void **state)
{
	(void)state;
	prepare_settled();
	at_end = leave_once;
	at_wait = granted_more;
	assert_int_equal(launch(), 0);
	expect_done("slot for 0;to evict 7;write 0 at 0 in s;7 leave at once;"
		    "launch 40 of 512,1,1+0 in s with 11,22;record end in s;watch;"
		    "await;read;reset;pause 60;regrant 60;"
		    "write 40 at 0 in s;5 leave at once;"
		    "launch 40 of 512,1,1+0 in s with 11,22;record end in s;watch;await;ended;");
	assert_int_equal(launched.first, 100);
	assert_int_equal(slot.first, 40);
	assert_int_equal(slot.surplus, 5);
	assert_int_equal(slot.flag, 5);
}

/* ---- where not all of them may fit ---- */

/* One that comes late finds no tasks of its own that nobody has done. */
static void all_begin_with_a_claim(void **state)
{
	(void)state;
	work.flags = COT_WORK_CROWDED;
	slot.armed = 24;
	assert_int_equal(launch(), 0);
	expect_done("slot for 0;write 0 at 0 in s;"
		    "launch 12 of 512,1,1+0 in s with 11,22;record end in s;watch;");
	assert_int_equal(launched.n_workers, 12);
	assert_int_equal(launched.first, 100);
	assert_int_equal(launched.begun, 0);
	assert_int_equal(slot.first, 0);
	assert_int_equal(slot.n_units, 3);
	assert_int_equal(slot.flag, 0);
	/* The next one finds the slot as it needs it. */
	written[0] = 0;
	assert_int_equal(launch(), 0);
	expect_done("slot for 0;launch 12 of 512,1,1+0 in s with 11,22;record end in s;watch;");
}

/* Gathered ones do so anyway; those that have one task each wait with it, as the program's would.
 */
static void no_other_claims(void **state)
{
	(void)state;
	work.flags |= COT_WORK_CROWDED;
	assert_int_equal(launch(), 0);
	assert_int_equal(slot.surplus, 7);
	assert_int_equal(launched.n_workers, 4 * N_SMS);
	work.flags = COT_WORK_CROWDED;
	config.grid[0] = 12;
	written[0] = 0;
	assert_int_equal(launch(), 0);
	expect_done("slot for 12;own;record end in s;watch;");
	assert_true(slot.original);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(workers_for_what_is_granted, set_up_latency),
		cmocka_unit_test_setup(workers_are_at_home, set_up_latency),
		cmocka_unit_test_setup(workers_are_held, set_up_latency),
		cmocka_unit_test_setup(the_control_block_is_made_ready, set_up_latency),
		cmocka_unit_test_setup(as_many_as_there_are, set_up_latency),
		cmocka_unit_test_setup(shapes, set_up_latency),
		cmocka_unit_test_setup(units, set_up_latency),
		cmocka_unit_test_setup(chunks, set_up_latency),
		cmocka_unit_test_setup(times, set_up_latency),
		cmocka_unit_test_setup(default_streams, set_up_latency),
		cmocka_unit_test_setup(streams_of_contexts, set_up_latency),
		cmocka_unit_test_setup(with_a_configuration, set_up_latency),
		cmocka_unit_test_setup(refused_workers, set_up_latency),
		cmocka_unit_test_setup(nothing_to_launch_with, set_up_latency),
		cmocka_unit_test_setup(refused_altogether, set_up_latency),
		cmocka_unit_test_setup(waits_for_a_slot, set_up_latency),
		cmocka_unit_test_setup(evicted_while_it_waits, set_up_latency),
		cmocka_unit_test_setup(settled, set_up_latency),
		cmocka_unit_test_setup(settled_and_evicted_in_part, set_up_latency),
		cmocka_unit_test_setup(settled_and_evicted, set_up_latency),
		cmocka_unit_test_setup(settled_and_evicted_twice, set_up_latency),
		cmocka_unit_test_setup(room_for_the_rest, set_up_latency),
		cmocka_unit_test_setup(settled_and_unread, set_up_latency),
		cmocka_unit_test_setup(settled_and_alone, set_up_latency),
		cmocka_unit_test_setup(settled_and_refused, set_up_latency),
		cmocka_unit_test_setup(settled_and_failed, set_up_latency),
		cmocka_unit_test_setup(settled_and_complete, set_up_latency),
		cmocka_unit_test_setup(settled_originals, set_up_latency),
		cmocka_unit_test_setup(batch_workers_are_gathered, set_up),
		cmocka_unit_test_setup(gathered_one_task_each, set_up),
		cmocka_unit_test_setup(not_gathered, set_up),
		cmocka_unit_test_setup(gathered_as_it_says, set_up),
		cmocka_unit_test_setup(the_rest_is_gathered, set_up),
		cmocka_unit_test_setup(all_begin_with_a_claim, set_up_latency),
		cmocka_unit_test_setup(no_other_claims, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
