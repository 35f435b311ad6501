/* What `ps`, `stats` and `doctor` print: the test is the daemon, with an answer of its own making.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/show.h"
#include "proto/proto.h"
#include "test.h"

static char folder[64];

/* ---- the daemon: answers every question with the same text ---- */

static void serve(int fd, const char *text)
{
	static _Alignas(8) char packet[COT_PROTO_PACKET_MAX];
	struct cot_msg_result *m = (struct cot_msg_result *)packet;
	struct cot_msg_query q;
	size_t size = sizeof(*m) + strlen(text);

	while (recv(fd, &q, sizeof(q), 0) == sizeof(q)) {
		*m = (struct cot_msg_result){.status = 0};
		memcpy(m->text, text, strlen(text));
		cot_proto_header(&m->h, COT_MSG_RESULT, (uint32_t)size, q.h.seq);
		(void)!send(fd, packet, size, MSG_NOSIGNAL);
	}
	(void)close(fd);
}

static pid_t start_daemon(const char *text)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0), fd;
	pid_t pid;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", folder);
	(void)unlink(address.sun_path);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 8), 0);
	pid = fork();
	if (pid == 0) {
		while ((fd = accept(listener, NULL, NULL)) >= 0)
			serve(fd, text);
		_exit(0);
	}
	(void)close(listener);
	return pid;
}

/* ---- the command: what it prints ---- */

static char printed[16384];

/* In a process of its own, as always. Returns its exit status. */
static int run(int (*command)(int, char **), const char *option, const char *answer)
{
	char name[] = "cotenant", offline[] = "--offline", argument[32];
	char *argv[] = {name, argument, command == cot_cmd_doctor ? offline : NULL, NULL};
	pid_t daemon = start_daemon(answer), pid;
	FILE *file = tmpfile();
	int status, argc = option ? 2 : 1;

	assert_non_null(file);
	snprintf(argument, sizeof(argument), "%s", option ? option : "");
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		(void)dup2(fileno(file), STDOUT_FILENO);
		status = command(command == cot_cmd_doctor ? 3 : argc, argv);
		(void)fflush(stdout);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rewind(file);
	printed[fread(printed, 1, sizeof(printed) - 1, file)] = '\0';
	(void)fclose(file);
	(void)kill(daemon, SIGKILL);
	(void)waitpid(daemon, NULL, 0);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int setup(void **state)
{
	char path[96];

	(void)state;
	snprintf(folder, sizeof(folder), "%s/cotenant-show-XXXXXX", P_tmpdir);
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/s", folder);
	setenv("COTENANT_SOCKET", path, 1);
	setenv("COTENANT_RUNTIME_DIR", folder, 1);
	return 0;
}

static int teardown(void **state)
{
	char path[96];

	(void)state;
	snprintf(path, sizeof(path), "%s/s", folder);
	(void)unlink(path);
	return rmdir(folder);
}

#define FINE                                                                               \
	"\"freezes\":0,\"thaws\":0,\"failed_orders\":0,\"leases_expired\":0,\"doubts\":0," \
	"\"freeze_trouble\":null,\"thaw_trouble\":null,\"slice_wrong_pid\":0,\"guests_left\":0"
#define NOTHING "\"daemon\":{\"policy\":\"pools\",\"policy_wanted\":\"pools\",\"pid\":42}"

/* ---- ps ---- */

static void test_ps(void **state)
{
	(void)state;
	assert_int_equal(
		run(cot_cmd_ps, "--wide",
		    "{" NOTHING ",\"pools\":[{\"name\":\"batch\",\"gpu\":1,\"mps\":\"up\","
		    "\"state\":\"running\",\"slice_us\":20,\"mode\":\"switch\","
		    "\"channel_groups\":4,\"tenants\":2," FINE "}],"
		    "\"tenants\":[{\"id\":3,\"name\":\"api\",\"class\":\"latency\",\"weight\":100,"
		    "\"pid\":77,\"gpus\":[0,2],\"pool\":null,\"state\":\"frozen\",\"held\":true,"
		    "\"slice_us\":300,\"slice_by_user\":true," FINE "},"
		    "{\"id\":4,\"name\":\"train\",\"class\":\"batch\",\"weight\":50,\"pid\":78,"
		    "\"gpus\":[1],\"pool\":\"batch\",\"uid\":4242424,\"age_seconds\":7300}]}"),
		0);
	assert_string_equal(
		printed,
		"POOL   GPU  MPS  STATE    SLICE  MODE    GROUPS  PROGRAMS\n"
		"batch  1    up   running  20 us  switch  4       2\n"
		"\n"
		"ID  NAME   CLASS    WEIGHT  PID  GPU  POOL   STATE          SLICE    USER     AGE\n"
		"3   api    latency  100     77   0,2  alone  frozen (held)  300 us!  -        -\n"
		"4   train  batch    50      78   1    batch  -              -        4242424  2 h\n");
}

/* A program and a pool with everything that makes a row long. */
#define LONG "a-name-of-sixty-three-characters-which-is-the-most-that-there-can-be"
static const char *const long_rows =
	"{" NOTHING ",\"gpus\":[{\"model\":\"NVIDIA H200\"},{\"model\":\"NVIDIA H200\"},"
	"{\"model\":null},{\"model\":\"Other\"}],"
	"\"pools\":[{\"name\":\"latency\",\"gpu\":10,\"mps\":\"starting\","
	"\"state\":\"freezing\",\"held\":true,\"slice_us\":100000,\"mode\":\"switch\","
	"\"channel_groups\":4,\"tenants\":2,\"slice_read_back_us\":100000,\"slice_wrong_pid\":7,"
	"\"freezes\":12345,\"freeze_last_ms\":10.5,\"freeze_max_ms\":1000.25,\"thaws\":12345,"
	"\"thaw_last_ms\":10.5,\"thaw_max_ms\":1000.25,\"failed_orders\":1234}],"
	"\"tenants\":[{\"id\":1234,\"name\":\"" LONG "\",\"class\":\"latency\",\"weight\":10000,"
	"\"pid\":4194304,\"uid\":4242424,\"age_seconds\":7000,"
	"\"gpus\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15],\"pool\":null,"
	"\"state\":\"freezing\",\"held\":true,\"slice_us\":100000,\"mode\":\"driver\","
	"\"quota\":\"132sm\",\"reserve\":\"132sm\",\"sms\":\"132sm\","
	"\"target\":{\"kind\":\"slowdown\",\"amount\":\"1.5x\",\"ms\":1234.5},"
	"\"requests\":{\"source\":\"marks\",\"count\":12345678,\"windows\":[{},"
	"{\"per_second\":1000.0,\"response\":{\"p50_ms\":123.25,\"p99_ms\":1234.5},"
	"\"judged\":\"response\",\"missed_share\":1.0}]},"
	"\"part\":{\"can_be_placed\":true,\"first\":100,\"sms\":128,\"gpu_sms\":132,\"changes\":12345,"
	"\"launches_followed\":1234567890,\"launches_stayed\":123456,\"coverage\":1.0},"
	"\"launches\":{\"workers\":123456789,\"on_part\":1234567890,\"elsewhere\":123456789,"
	"\"coverage\":1.0,\"on_cpu\":123456789,\"on_cpu_ms\":123456789.5,\"not_on_cpu\":12345678},"
	"\"work\":{\"n_sms\":132,\"granted\":128,\"running\":12,\"waiting\":12,"
	"\"kernels_rewritten\":1234,\"kernels_refused\":1234,\"launches_workers\":123456789,"
	"\"launches_plain\":12345678,\"evictions\":1234567,"
	"\"wait_us\":{\"p50\":100,\"p99\":10000,\"max\":1000000},"
	"\"methods\":{\"reserve\":{\"said\":1,\"requests\":1234567890,\"has\":128,\"running\":12,"
	"\"waiting\":12,\"evictions\":1234567}}}}]}";

/* The longest line, and whether each name is whole. */
static unsigned longest(void)
{
	const char *line = printed;
	size_t n, most = 0;

	for (; *line; line += n + (line[n] == '\n')) {
		n = strcspn(line, "\n");
		if (n > most && strncmp(line, "pool:", 5) != 0) /* no remark */
			most = n;
	}
	return (unsigned)most;
}

static void test_80_columns(void **state)
{
	int (*const commands[])(int, char **) = {cot_cmd_ps, cot_cmd_stats};
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		assert_int_equal(run(commands[i], NULL, long_rows), 0);
		assert_in_range(longest(), 60, 80);
		assert_null(strstr(printed, LONG));
		assert_non_null(strstr(printed, "a-nam"));
		assert_int_equal(run(commands[i], "--wide", long_rows), 0);
		assert_in_range(longest(), 100, 400);
		assert_non_null(strstr(printed, LONG));
		assert_null(strstr(printed, "~"));
	}
	assert_int_equal(run(cot_cmd_ps, NULL, long_rows), 0);
	assert_non_null(strstr(printed, "GPU 0 to 1: NVIDIA H200\nGPU 3: Other\n\nPOOL"));
	assert_non_null(strstr(printed, "0,1,2~"));
	assert_non_null(strstr(printed, "4242424  117 min\n"));
}

static void test_ps_of_nothing(void **state)
{
	(void)state;
	assert_int_equal(run(cot_cmd_ps, NULL, "{" NOTHING ",\"pools\":[],\"tenants\":[]}"), 0);
	assert_string_equal(printed, "ID  NAME  CLASS  PID  GPU  POOL  STATE  USER  AGE\n");
}

static void test_ps_of_shares(void **state)
{
	(void)state;
	assert_int_equal(
		run(cot_cmd_ps, "--wide",
		    "{" NOTHING ",\"pools\":[],\"tenants\":["
		    "{\"id\":1,\"name\":\"a\",\"gpus\":[],\"pool\":\"shared\",\"quota\":\"50%\","
		    "\"reserve\":null,\"work\":null},"
		    "{\"id\":2,\"name\":\"b\",\"gpus\":[],\"pool\":\"shared\",\"quota\":null,"
		    "\"reserve\":\"66sm\",\"work\":{\"n_sms\":132,\"granted\":40,\"evicted\":10,"
		    "\"leaving\":3,\"running\":2,\"waiting\":1},\"shares_effect\":\"it has none\","
		    "\"shares_reason\":\"launch-small\",\"launches\":{\"workers\":20,\"on_part\":10,"
		    "\"elsewhere\":10,\"coverage\":0.75}},"
		    "{\"id\":5,\"name\":\"c\",\"gpus\":[],\"pool\":\"shared\",\"work\":null,"
		    "\"next_start\":\"solo, which is better\",\"target_effect\":\"is kept nearly\"}]}"),
		0);
	assert_string_equal(
		strstr(printed, "\nID  NAME  QUOTA"),
		"\nID  NAME  QUOTA  RESERVE  HAS SMS    LEAVING  RUNNING  WAITING  COVERED\n"
		"1   a     50%    -        -          -        -        -        -\n"
		"2   b     -      66sm     30 of 132  3        2        1        75.00 %\n"
		"\n"
		"b: it has none; launch-small (no more blocks than fit one SM)\n"
		"c: the target is kept nearly\n"
		"c: at the next start solo, which is better\n");
}

/* Once for all that have the same. */
static void test_next_starts(void **state)
{
	static const char answer[] =
		"{" NOTHING ",\"pools\":[],\"tenants\":["
		"{\"id\":1,\"name\":\"a\",\"gpus\":[],\"next_start\":\"solo\"},"
		"{\"id\":2,\"name\":\"b\",\"gpus\":[],\"next_start\":\"parts\","
		"\"target_effect\":\"is kept\"},"
		"{\"id\":3,\"name\":\"c\",\"gpus\":[],\"next_start\":null},"
		"{\"id\":4,\"name\":\"d\",\"gpus\":[],\"next_start\":\"solo\"}]}";
	static int (*const commands[])(int, char **) = {cot_cmd_ps, cot_cmd_stats};
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(commands); i++) {
		assert_int_equal(run(commands[i], NULL, answer), 0);
		assert_non_null(strstr(printed, "\n\n"
						"a, d: at the next start solo\n"
						"b: the target is kept\n"
						"b: at the next start parts\n"));
	}
}

#define TROUBLE(s) "{\"failures\":9,\"seconds\":" s ",\"last_seconds\":3.1,\"reason\":\"because\"}"

#define PART                                                                                \
	"\"part\":{\"can_be_placed\":true,\"first\":64,\"sms\":64,\"gpu_sms\":132,"         \
	"\"changes\":3,\"launches_followed\":997,\"launches_stayed\":3,\"coverage\":0.997," \
	"\"stayed\":{\"launch-attribute\":2,\"odd\":1},\"placed\":4,\"place_failed\":1,"    \
	"\"place_last_us\":2.6,\"place_max_us\":31}"

static void test_parts(void **state)
{
	static const char answer[] =
		"{" NOTHING ",\"pools\":[],\"tenants\":["
		"{\"id\":1,\"name\":\"a\",\"pool\":\"shared\",\"sms\":\"50%\"," PART
		",\"part_effect\":\"not all\"},"
		"{\"id\":2,\"name\":\"b\",\"pool\":\"shared\",\"sms\":null,\"part\":"
		"{\"can_be_placed\":true,\"first\":0,\"sms\":132,\"gpu_sms\":132,"
		"\"coverage\":null},\"part_effect\":null},"
		"{\"id\":3,\"name\":\"c\",\"pool\":\"shared\",\"sms\":\"8sm\",\"part\":null},"
		"{\"id\":4,\"name\":\"d\",\"pool\":\"shared\",\"sms\":null,\"part\":null}]}";

	(void)state;
	assert_int_equal(run(cot_cmd_ps, NULL, answer), 0);
	assert_non_null(strstr(printed, "\n\n"
					"ID  NAME  SMS  HAS SMS             FOLLOWED\n"
					"1   a     50%  64 of 132, from 64  99.70 %\n"
					"2   b     -    all 132             -\n"
					"3   c     8sm  -                   -\n"
					"\n"
					"a: not all\n"));
	assert_int_equal(run(cot_cmd_stats, "--wide", answer), 0);
	assert_non_null(strstr(
		printed,
		"\n"
		"PROGRAM  HAS SMS             CHANGES  FOLLOWED  STAYED  COVERAGE  ORDERS  FAILED  "
		"LAST/MAX\n"
		"a        64 of 132, from 64  3        997       3       99.70 %   4       1       "
		"3/31 us\n"
		"b        all 132             0        0         0       -         0       0       "
		"0/0 us\n"
		"a: 2 launches not on its part: launch-attribute (cooperative, in clusters, or with "
		"another attribute)\n"
		"a: 1 launch not on its part: odd\n"));
}

#define ON(id, name, pool, sms, first, n)                                                   \
	"{\"id\":" #id ",\"name\":\"" name "\",\"gpus\":[0],\"pool\":" pool ",\"sms\":" sms \
	",\"part\":{\"can_be_placed\":true,\"first\":" #first ",\"sms\":" #n ",\"gpu_sms\":132}}"

static void test_parts_that_meet(void **state)
{
	(void)state;
	assert_int_equal(
		run(cot_cmd_ps, NULL,
		    "{" NOTHING ",\"pools\":[],\"tenants\":[" ON(
			    1, "a", "\"shared\"", "\"100sm\"", 0,
			    104) "," ON(2, "b", "\"shared\"", "\"8sm\"", 0,
					8) "," ON(3, "c", "\"shared\"", "\"50%\"", 96,
						  16) "," ON(4, "policy's", "\"shared\"", "null", 0,
							     132) "," ON(5, "alone", "null",
									 "\"8sm\"", 0,
									 8) "," ON(6, "behind",
										   "\"shared\"",
										   "\"8sm\"", 112,
										   8) "]}"),
		0);
	assert_string_equal(strstr(printed, "\n\na:") + 2,
			    "a: more SMs were asked for than there are; it shares some with b, c\n"
			    "b: more SMs were asked for than there are; it shares some with a\n"
			    "c: more SMs were asked for than there are; it shares some with a\n");
}

static void test_ps_of_trouble(void **state)
{
	(void)state;
	assert_int_equal(
		run(cot_cmd_ps, "--wide",
		    "{\"daemon\":{\"policy\":\"timeslice\",\"policy_wanted\":\"pools\","
		    "\"policy_fault\":{\"fault\":\"storm\",\"reason\":\"it raged\",\"seconds\":130,"
		    "\"retry_seconds\":9.6}},\"pools\":[{\"name\":\"batch\",\"gpu\":0,"
		    "\"freeze_trouble\":" TROUBLE(
			    "50") ",\"thaw_trouble\":null,\"guests_left\":2}],"
				  "\"tenants\":[{\"id\":3,\"name\":\"api\",\"gpus\":[],\"pool\":null,"
				  "\"state\":\"thawing\",\"freeze_trouble\":null,\"thaw_trouble\":" TROUBLE(
					  "17.2") ",\"slice_wrong_pid\":66,\"slice_wrong_reason\":\"it is late\"}]}"),
		0);
	assert_non_null(strstr(printed, "alone  stuck 17 s  driver's  -     -\n"));
	assert_string_equal(
		strstr(printed, "\n\npool:") + 1,
		"\n"
		"pool:batch: the last freeze failed 3 s ago, failures: 9 (because)\n"
		"pool:batch: processes of its programs that do not obey and get no more orders: 2\n"
		"api: no thaw has been confirmed for 17 s, failures: 9 (because); it may hang\n"
		"api: process 66 does not have the slice that it should have: it is late\n"
		"The policy 'pools' failed 2 min ago (storm: it raged); 'timeslice' is used instead, "
		"and the daemon tries it again in 10 s\n");
}

static void test_ps_as_json(void **state)
{
	json_t *o;

	(void)state;
	assert_int_equal(run(cot_cmd_ps, "--json", "{" NOTHING ",\"pools\":[],\"tenants\":[]}"), 0);
	o = json_loads(printed, 0, NULL);
	assert_int_equal(cot_show_number(json_object_get(o, "daemon"), "pid"), 42);
	json_decref(o);
}

/* ---- stats ---- */

static void test_stats(void **state)
{
	(void)state;
	assert_int_equal(
		run(cot_cmd_stats, "--wide",
		    "{" NOTHING ",\"pools\":[{\"name\":\"batch\",\"gpu\":0,\"mode\":\"switch\","
		    "\"slice_us\":20,\"slice_read_back_us\":20,\"freezes\":2,"
		    "\"freeze_last_ms\":1.5,\"freeze_max_ms\":2.25,\"thaws\":1,"
		    "\"thaw_last_ms\":0.5,\"thaw_max_ms\":0.75,\"failed_orders\":3,"
		    "\"leases_expired\":4,\"doubts\":5}],"
		    "\"tenants\":[{\"name\":\"in\",\"pool\":\"batch\"},"
		    "{\"name\":\"out\",\"pool\":null,\"mode\":\"driver\",\"slice_us\":0,"
		    "\"slice_read_back_us\":2048," FINE "},"
		    "{\"name\":\"odd\",\"pool\":null,\"mode\":\"driver\",\"slice_us\":300,"
		    "\"slice_read_back_us\":2000,\"slice_wrong_pid\":9,"
		    "\"slice_wrong_reason\":\"it is late\"}],"
		    "\"core\":{\"fallbacks\":1,\"fault\":\"storm\",\"rescues\":2,"
		    "\"freeze\":{\"sent\":7,\"failed\":1,\"timed_out\":2,\"mean_ms\":1.25,"
		    "\"max_ms\":4.5}},\"connections\":3,\"refused\":4,\"bad_packets\":5,"
		    "\"timers\":{\"late\":1,\"waited\":9,\"stolen\":8,\"worst_ms\":7.5,\"worst_own_ms\":2.5}}"),
		0);
	assert_string_equal(
		printed,
		"ENTITY      SLICE     READ BACK  MODE    FREEZES  LAST/MAX      THAWS  "
		"LAST/MAX      FAILED  LAPSED  DOUBTS\n"
		"pool:batch  20 us     20 us      switch  2        1.50/2.25 ms  1      "
		"0.50/0.75 ms  3       4       5\n"
		"out         driver's  2048 us    driver  0        -             0      -             "
		"0       0       0\n"
		"odd         300 us    2000 us !  driver  0        -             0      -             "
		"0       0       0\n"
		"\n"
		"odd: process 9 does not have the slice that it should have: it is late\n"
		"\n"
		"Policy pools\n"
		"Fallbacks: 1, last fault: storm, rescues: 2\n"
		"ACTION  SENT  FAILED  TIMED OUT  MEAN      MAX\n"
		"slice   0     0       0          0.000 ms  0.000 ms\n"
		"mode    0     0       0          0.000 ms  0.000 ms\n"
		"freeze  7     1       2          1.250 ms  4.500 ms\n"
		"thaw    0     0       0          0.000 ms  0.000 ms\n"
		"grant   0     0       0          0.000 ms  0.000 ms\n"
		"evict   0     0       0          0.000 ms  0.000 ms\n"
		"place   0     0       0          0.000 ms  0.000 ms\n"
		"\n"
		"Timers: at worst 7.5 ms late, by the daemon itself 2.5 ms\n"
		"Too late by itself: 1, by the machine's load: 9, by its host: 8\n"
		"Connections: 3, refused: 4, bad packets: 5\n");
}

static void test_stats_of_works(void **state)
{
	(void)state;
	assert_int_equal(
		run(cot_cmd_stats, "--wide",
		    "{" NOTHING ",\"pools\":[{\"name\":\"shared\",\"gpu\":1}],"
		    "\"tenants\":[{\"name\":\"a\",\"pool\":\"shared\",\"work\":null},"
		    "{\"name\":\"b\",\"pool\":\"shared\",\"work\":{"
		    "\"kernels_rewritten\":3,\"kernels_refused\":2,\"launches_workers\":50,"
		    "\"launches_plain\":6,\"tasks\":700,\"remapped\":80,\"evictions\":9,"
		    "\"resumes\":1,\"wait_us\":{\"p50\":1,\"p99\":2,\"max\":3},"
		    "\"eviction_us\":{\"p50\":4,\"p99\":5,\"max\":6},"
		    "\"refusals\":{\"launch-small\":6,\"recursion\":2,\"image-no-ptx\":1}}}]}"),
		0);
	assert_non_null(strstr(printed, "\npool:shared:1  "));
	assert_null(strstr(printed, "\na "));
	assert_non_null(strstr(
		printed,
		"\nPROGRAM  KERNELS  LAUNCHES  PLAIN  WAIT P50/P99/MAX  TASKS  REMAPPED  EVICTIONS  "
		"RESUMES  DELAY P50/P99/MAX\n"
		"b        3 of 5   50        6      1/2/3 us          700    80        9          "
		"1        4/5/6 us\n"));
	assert_non_null(strstr(printed, "b: 6 launches as they are: launch-small (no more blocks "
					"than fit one SM)\n"));
	assert_non_null(strstr(printed, "b: 2 kernels not rewritten: recursion"));
	assert_non_null(strstr(printed, "b: 1 images as they are: image-no-ptx ("));
}

/* ---- doctor ---- */

static const json_t *finding(const json_t *o, const char *check)
{
	json_t *f;
	size_t i;

	json_array_foreach (json_object_get(o, "findings"), i, f) {
		if (!strcmp(cot_show_text(f, "check"), check))
			return f;
	}
	return NULL;
}

#define DOCTOR "\"library\":\"/lib\",\"mps_failed\":false"

static void test_doctor_of_trouble(void **state)
{
	const json_t *f;
	json_t *o;

	(void)state;
	(void)run(cot_cmd_doctor, "--json",
		  "{" DOCTOR ",\"daemon\":{\"pid\":42,\"policy\":\"timeslice\","
		  "\"policy_wanted\":\"pools\",\"policy_fault\":{\"fault\":\"storm\","
		  "\"reason\":\"it raged\",\"seconds\":130,\"retry_seconds\":9.6}},"
		  "\"pools\":[{\"name\":\"batch\",\"thaw_trouble\":" TROUBLE(
			  "17.2") "}],"
				  "\"tenants\":[{\"name\":\"a\",\"slice_wrong_pid\":66,"
				  "\"slice_wrong_reason\":\"it is late\"}]}");
	o = json_loads(printed, 0, NULL);
	assert_non_null(o);
	f = finding(o, "orders");
	assert_string_equal(cot_show_text(f, "result"), "warn");
	assert_string_equal(cot_show_text(f, "what"),
			    "pool:batch: no thaw has been confirmed for 17 s, "
			    "failures: 9 (because)");
	assert_non_null(strstr(cot_show_text(f, "advice"), "end it"));
	f = finding(o, "slices");
	assert_string_equal(cot_show_text(f, "what"),
			    "a: process 66 does not have the slice that it "
			    "should have: it is late");
	f = finding(o, "policy");
	assert_string_equal(cot_show_text(f, "what"), "the policy 'pools' failed 2 min ago (storm: "
						      "it raged); 'timeslice' is used instead");
	assert_string_equal(cot_show_text(f, "advice"),
			    "the daemon tries it again in 10 s, or at once if you send SIGHUP to "
			    "process 42");
	json_decref(o);
}

static void test_doctor_of_parts(void **state)
{
	const json_t *f;
	json_t *o;

	(void)state;
	(void)run(cot_cmd_doctor, "--json",
		  "{" DOCTOR "," NOTHING ",\"tenants\":[{\"name\":\"a\"," PART
		  ",\"part_effect\":null},{\"name\":\"b\",\"part\":null,\"part_effect\":null}]}");
	o = json_loads(printed, 0, NULL);
	assert_non_null(o);
	f = finding(o, "parts");
	assert_string_equal(cot_show_text(f, "result"), "ok");
	assert_string_equal(cot_show_text(f, "what"),
			    "a has SMs: 64 of 132, from 64; launches that followed: 99.70 %");
	json_decref(o);
	(void)run(cot_cmd_doctor, "--json",
		  "{" DOCTOR "," NOTHING ",\"tenants\":[{\"name\":\"a\"," PART
		  ",\"part_effect\":\"not all\"}]}");
	o = json_loads(printed, 0, NULL);
	assert_non_null(o);
	f = finding(o, "parts");
	assert_string_equal(cot_show_text(f, "result"), "warn");
	assert_string_equal(cot_show_text(f, "what"), "a: not all");
	json_decref(o);
}

static void test_doctor_of_shares(void **state)
{
	const json_t *f;
	json_t *o;

	(void)state;
	(void)run(cot_cmd_doctor, "--json",
		  "{" DOCTOR "," NOTHING ",\"tenants\":[{\"name\":\"a\",\"quota\":\"50%\","
		  "\"launches\":{\"workers\":3,\"on_part\":4},\"shares_effect\":null}]}");
	o = json_loads(printed, 0, NULL);
	assert_non_null(o);
	f = finding(o, "shares");
	assert_string_equal(cot_show_text(f, "result"), "ok");
	assert_string_equal(cot_show_text(f, "what"),
			    "a: all its launches are covered, 3 as workers, 4 on its part");
	json_decref(o);
	(void)run(cot_cmd_doctor, "--json",
		  "{" DOCTOR "," NOTHING ",\"tenants\":[{\"name\":\"a\",\"quota\":\"50%\","
		  "\"launches\":{},\"shares_effect\":\"it has none\"}]}");
	o = json_loads(printed, 0, NULL);
	assert_non_null(o);
	f = finding(o, "shares");
	assert_string_equal(cot_show_text(f, "result"), "warn");
	assert_string_equal(cot_show_text(f, "what"), "a: it has none");
	json_decref(o);
}

static void test_stats_of_launches(void **state)
{
	(void)state;
	assert_int_equal(run(cot_cmd_stats, NULL,
			     "{" NOTHING
			     ",\"pools\":[],\"tenants\":[{\"name\":\"a\",\"pool\":\"s\"},"
			     "{\"name\":\"b\",\"pool\":\"s\",\"launches\":{\"workers\":20,"
			     "\"on_part\":10,\"elsewhere\":10,\"coverage\":0.75},"
			     "\"launches_per_second\":1234.56},{\"name\":\"c\",\"pool\":\"s\","
			     "\"launches\":{\"workers\":0,\"on_part\":1,\"elsewhere\":0,"
			     "\"coverage\":1.0},\"launches_per_second\":null}]}"),
			 0);
	assert_non_null(strstr(printed,
			       "\nPROGRAM  AS WORKERS  ON ITS PART  ELSEWHERE  COVERED   A SECOND\n"
			       "b        20          10           10         75.00 %   1235\n"
			       "c        0           1            0          100.00 %  -\n"));
}

/* Of a program in a pool: its target, and its last 10 s if it is measured. */
#define TARGET(name, target) "{\"name\":\"" name "\",\"pool\":\"s\",\"target\":" target
#define TIMES		     "{\"n\":30,\"missed\":3,\"p50_ms\":1.5,\"p95_ms\":4,\"p99_ms\":5.25}"
#define MEASURED(window)                                                                            \
	",\"requests\":{\"source\":\"marks\",\"count\":30,\"lost\":1,\"rejected\":2,\"unclear\":4," \
	"\"windows\":[{},{\"seconds\":10,\"per_second\":3.0," window "},{}]}}"
#define RESPONSES "\"response\":" TIMES ",\"judged\":\"response\",\"missed_share\":0.1"
#define SERVICES  "\"service\":" TIMES ",\"judged\":\"service\",\"missed_share\":null"
#define NO_TIMES  "\"response\":null,\"service\":null,\"judged\":null,\"missed_share\":null"

static const char *const measured_programs = "{" NOTHING ",\"pools\":[],\"tenants\":["
	/* clang-format off */
	TARGET("a", "{\"kind\":\"p99\",\"amount\":\"5ms\",\"ms\":5.0}") MEASURED(RESPONSES) ","
	TARGET("b", "null") MEASURED(SERVICES) ","
	TARGET("c", "{\"kind\":\"slowdown\",\"amount\":\"1.5x\",\"ms\":null}") MEASURED(NO_TIMES) ","
	TARGET("d", "{\"kind\":\"slowdown\",\"amount\":\"2x\",\"ms\":4.5}") MEASURED(RESPONSES) ","
	TARGET("e", "{\"kind\":\"rate\",\"amount\":\"80%\",\"ms\":null}") "},"
	TARGET("f", "{\"kind\":\"rate\",\"amount\":\"80%\",\"keeps\":0.834}") "},"
	TARGET("g", "null") "}]}";
/* clang-format on */

/* Which figure the target is compared with, and what is not known, shows. */
static void test_stats_of_requests(void **state)
{
	(void)state;
	assert_int_equal(run(cot_cmd_stats, "--wide", measured_programs), 0);
	assert_non_null(strstr(
		printed,
		"\nPROGRAM  TARGET                REQUESTS  A SECOND  P50/P99       OF               MISSED   LOST  UNCLEAR\n"
		"a        p99 5ms               30        3.0       1.50/5.25 ms  response, marks  10.00 %  3     4\n"
		"b        -                     30        3.0       1.50/5.25 ms  service, marks   -        3     4\n"
		"c        slowdown 1.5x         30        3.0       -             marks            -        3     4\n"
		"d        slowdown 2x: 4.50 ms  30        3.0       1.50/5.25 ms  response, marks  10.00 %  3     4\n"
		"e        rate 80%              -         -         -             -                -        -     -\n"
		"f        rate 80%: has 83%     -         -         -             -                -        -     -\n"
		"\nPolicy"));
}

static json_t *doctor_of_timers(const char *timers)
{
	char answer[1024];
	json_t *o;

	(void)snprintf(answer, sizeof(answer), "{" DOCTOR "," NOTHING ",\"timers\":%s}", timers);
	(void)run(cot_cmd_doctor, "--json", answer);
	o = json_loads(printed, 0, NULL);
	assert_non_null(o);
	return o;
}

static void test_doctor_of_a_late_daemon(void **state)
{
	const json_t *f;
	json_t *o;

	(void)state;
	o = doctor_of_timers("{\"late\":0,\"late_seconds\":null,\"waited\":7,"
			     "\"waited_seconds\":599,\"worst_ms\":312.4,\"worst_own_ms\":3}");
	f = finding(o, "timers");
	assert_string_equal(cot_show_text(f, "result"), "warn");
	assert_string_equal(
		cot_show_text(f, "what"),
		"the daemon waited for a processor and came late 7 times, by up to 312 "
		"ms, last 10 min ago: frozen programs run meanwhile, and turns are late");
	assert_non_null(strstr(cot_show_text(f, "advice"), "overloaded"));
	json_decref(o);
	o = doctor_of_timers("{\"late\":2,\"late_seconds\":12,\"waited\":7,"
			     "\"waited_seconds\":601,\"worst_ms\":400,\"worst_own_ms\":33}");
	f = finding(o, "timers");
	assert_string_equal(
		cot_show_text(f, "what"),
		"the daemon was busy and came late 2 times, by up to 33 ms, last 12 s ago: frozen "
		"programs run meanwhile, and turns are late");
	assert_non_null(strstr(cot_show_text(f, "advice"), "too much to do"));
	json_decref(o);
	o = doctor_of_timers(
		"{\"late\":0,\"late_seconds\":null,\"waited\":0,\"waited_seconds\":null,"
		"\"stolen\":3,\"stolen_seconds\":5,\"worst_ms\":77,\"worst_own_ms\":1}");
	f = finding(o, "timers");
	assert_string_equal(
		cot_show_text(f, "what"),
		"the daemon was not run and came late 3 times, by up to 77 ms, last 5 s ago: frozen "
		"programs run meanwhile, and turns are late");
	assert_non_null(strstr(cot_show_text(f, "advice"), "or the daemon was stopped"));
	json_decref(o);
	o = doctor_of_timers("{\"late\":2,\"late_seconds\":1200,\"waited\":0,"
			     "\"waited_seconds\":null,\"worst_ms\":400,\"worst_own_ms\":33}");
	assert_null(finding(o, "timers"));
	json_decref(o);
}

static void test_doctor_without_trouble(void **state)
{
	json_t *o;

	(void)state;
	(void)run(cot_cmd_doctor, "--json",
		  "{" DOCTOR "," NOTHING ",\"pools\":[{\"name\":\"batch\"," FINE "}],"
		  "\"tenants\":[{\"name\":\"a\",\"freeze_trouble\":" TROUBLE("5") "}]}");
	o = json_loads(printed, 0, NULL);
	assert_non_null(o);
	assert_string_equal(cot_show_text(finding(o, "daemon"), "result"), "ok");
	assert_null(finding(o, "policy"));
	assert_null(finding(o, "slices"));
	assert_string_equal(cot_show_text(finding(o, "orders"), "what"),
			    "a: the last freeze failed 3 s ago, failures: 9 (because)");
	assert_non_null(strstr(cot_show_text(finding(o, "orders"), "advice"), "beside the others"));
	json_decref(o);
}

/* ---- small things ---- */

static void test_durations(void **state)
{
	static const struct {
		double seconds;
		const char *text;
	} all[] = {{0, "0 s"},	   {0.4, "0 s"},      {17.2, "17 s"}, {119.4, "119 s"},
		   {120, "2 min"}, {7199, "120 min"}, {7200, "2 h"},  {360000, "100 h"}};
	char text[32];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cot_show_duration(all[i].seconds, text, sizeof(text));
		assert_string_equal(text, all[i].text);
	}
}

/* The daemon has answered: no error of its can be taken for its not being there. */
static void test_exit_statuses(void **state)
{
	(void)state;
	assert_int_equal(cot_client_exit_status(0), 0);
	assert_int_equal(cot_client_exit_status(-EIO), COT_EXIT_FAILURE);
	assert_int_equal(cot_client_exit_status(-ENOENT), COT_EXIT_NO_DAEMON);
	assert_int_equal(cot_client_exit_status(-EPERM), COT_EXIT_PERMISSION);
	assert_int_equal(cot_client_exit_status(-ESRCH), COT_EXIT_NOT_FOUND);
	assert_int_not_equal(run(cot_cmd_ps, NULL, "this is no JSON"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(ps),
		TEST(80_columns),
		TEST(ps_of_nothing),
		TEST(ps_of_shares),
		TEST(next_starts),
		TEST(parts),
		TEST(parts_that_meet),
		TEST(doctor_of_parts),
		TEST(doctor_of_shares),
		TEST(stats_of_launches),
		TEST(stats_of_requests),
		TEST(ps_of_trouble),
		TEST(ps_as_json),
		TEST(stats),
		TEST(stats_of_works),
		TEST(doctor_of_trouble),
		TEST(doctor_of_a_late_daemon),
		TEST(doctor_without_trouble),
		TEST(durations),
		TEST(exit_statuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
