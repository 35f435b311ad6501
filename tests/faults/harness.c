#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/client.h"
#include "page.h"

/* What takes so long is told, but may be right: a daemon, say, tries again after a while. */
#define SLOW_MS 1000u
/* Nothing here takes so long, unless it hangs. */
#define LONG_MS	     20000u
#define PROBLEMS_MAX 12u

pid_t daemon_pid;

static struct fault_page *page;
static char work[64];
static const struct op *op; /* that is being done */
static unsigned n_problems, n_loops;
static off_t said; /* how long the daemon's log was */

/* ---- the test's own ---- */

const char *work_path(const char *name)
{
	static char paths[8][256];
	static unsigned next;
	char *path = paths[next++ % 8];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", work, name);
	return path;
}

const char *env_path(const char *name)
{
	const char *value = getenv(name);

	if (!value) {
		fprintf(stderr, "faults: %s is not set\n", name);
		exit(2);
	}
	return value;
}

void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f || fputs(text, f) < 0 || fclose(f)) {
		perror(path);
		exit(2);
	}
}

void write_config(const char *policy)
{
	char text[200];

	(void)snprintf(text, sizeof(text),
		       "schema: cotenantd/1\npolicy: %s\nmps:\n  linger_s: 0\nallow:\n"
		       "  other_users: true\n",
		       policy);
	write_text(work_path("conf"), text);
}

char *read_text(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (!f || getdelim(&text, &size, '\0', f) < 0) {
		free(text);
		text = strdup("");
	}
	if (f)
		fclose(f);
	return text;
}

uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void problem(const char *fmt, ...)
{
	va_list args;

	printf("FAILED: %s, call %llu%s (%s): ", op->name, (unsigned long long)page->n,
	       page->onward ? " and all after it" : "", page->first);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	n_problems++;
}

bool until(bool (*holds)(const void *arg), const void *arg, unsigned ms)
{
	static const struct timespec pause = {0, 2000000};
	uint64_t end = now_ms() + ms;

	while (!holds(arg)) {
		if (now_ms() >= end)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

/* ---- faults ---- */

static void arm(uint64_t n, bool onward)
{
	memset(page->first, 0, sizeof(page->first));
	atomic_store(&page->n, n);
	atomic_store(&page->onward, onward);
	atomic_store(&page->n_calls, 0);
	atomic_store(&page->n_failed, 0);
	atomic_store(&page->armed, 1);
}

void disarm(void)
{
	atomic_store(&page->armed, 0);
}

void rearm(void)
{
	arm(atomic_load(&page->n), atomic_load(&page->onward));
}

bool is_onward(void)
{
	return atomic_load(&page->onward);
}

/* ---- processes ---- */

static int open_out(const char *path)
{
	return open(path ? path : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

pid_t spawn(const char *const argv[], const char *out, const char *err)
{
	int out_fd = open_out(out), err_fd = open_out(err);
	pid_t pid = fork();

	if (pid == 0) {
		setenv("LD_PRELOAD", env_path("FAULT_LIBRARY"), 1);
		setenv(FAULTS_VARIABLE, work_path("page"), 1);
		dup2(out_fd, STDOUT_FILENO);
		dup2(err_fd, STDERR_FILENO);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(99);
	}
	close(out_fd);
	close(err_fd);
	if (pid < 0)
		exit(2);
	return pid;
}

enum ended wait_end(pid_t pid, unsigned ms, int *ret_status)
{
	struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	bool hung = p.fd >= 0 && poll(&p, 1, (int)ms) == 0;
	int status = 0;

	if (p.fd >= 0)
		close(p.fd);
	if (hung)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
	return hung ? ENDED_HUNG : WIFEXITED(status) ? ENDED_EXIT : ENDED_SIGNAL;
}

struct result run(const char *const argv[], unsigned ms)
{
	const char *out = work_path("out"), *err = work_path("err");
	struct result r;
	pid_t pid;

	unlink(out);
	unlink(err);
	pid = spawn(argv, out, err);
	r.how = wait_end(pid, ms, &r.status);
	r.out = read_text(out);
	r.err = read_text(err);
	return r;
}

void free_result(struct result *r)
{
	free(r->out);
	free(r->err);
}

static bool is_ours(const char *pid)
{
	char path[300], *text, *at;
	bool ours = false;
	FILE *f;
	size_t n;

	(void)snprintf(path, sizeof(path), "/proc/%s/environ", pid);
	f = fopen(path, "re");
	text = malloc(1 << 16);
	n = f && text ? fread(text, 1, (1 << 16) - 1, f) : 0;
	if (f)
		fclose(f);
	if (text)
		text[n] = '\0';
	for (at = text; !ours && at && at < text + n; at += strlen(at) + 1)
		ours = !strncmp(at, FAULTS_VARIABLE "=", sizeof(FAULTS_VARIABLE)) &&
		       !strcmp(at + sizeof(FAULTS_VARIABLE), work_path("page"));
	free(text);
	return ours;
}

static char left_name[64]; /* of the last one that n_left() found */

unsigned n_left(const pid_t *known, unsigned n_known)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	unsigned n = 0, i;
	bool is_known;
	long pid;

	while (dir && (e = readdir(dir))) {
		pid = strtol(e->d_name, NULL, 10);
		if (pid <= 0 || pid == getpid() || !is_ours(e->d_name))
			continue;
		is_known = false;
		for (i = 0; i < n_known; i++)
			is_known |= known[i] == pid;
		n += !is_known;
		if (!is_known)
			(void)snprintf(left_name, sizeof(left_name), "process %ld", pid);
	}
	if (dir)
		closedir(dir);
	return n;
}

struct known {
	const pid_t *pids;
	unsigned n;
};

static bool nothing_left(const void *arg)
{
	const struct known *k = arg;

	return n_left(k->pids, k->n) == 0;
}

bool none_left(const pid_t *known, unsigned n_known, unsigned ms)
{
	struct known k = {known, n_known};

	return until(nothing_left, &k, ms);
}

/* ---- the daemon ---- */

static off_t log_size(void)
{
	struct stat st;

	return stat(work_path("daemon.log"), &st) ? 0 : st.st_size;
}

static pid_t begin_daemon(int ready)
{
	const char *program = env_path("COTENANTD");
	pid_t pid;
	char fd[16];
	int out;

	(void)snprintf(fd, sizeof(fd), "%d", ready);
	pid = fork();
	if (pid == 0) {
		out = open_out(work_path("daemon.log"));
		dup2(out, STDERR_FILENO);
		fcntl(ready, F_SETFD, 0);
		setenv("LD_PRELOAD", env_path("FAULT_LIBRARY"), 1);
		setenv(FAULTS_VARIABLE, work_path("page"), 1);
		unsetenv("COTENANT_SOCKET");
		execl(program, program, "--config", work_path("conf"), "--ready-fd", fd, NULL);
		_exit(99);
	}
	return pid;
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == pid;
}

static bool ends_or_serves(const void *arg)
{
	(void)arg;
	return has_ended(daemon_pid) || daemon_of_others() == daemon_pid;
}

enum served daemon_start(void)
{
	struct pollfd p = {.events = POLLIN};
	int ends[2], status, n;
	char word = 0;

	said = log_size();
	if (pipe2(ends, O_CLOEXEC) < 0)
		exit(2);
	daemon_pid = begin_daemon(ends[1]);
	close(ends[1]);
	p.fd = ends[0];
	n = poll(&p, 1, (int)LONG_MS);
	if (n == 1 && read(ends[0], &word, 1) != 1)
		word = 0;
	close(ends[0]);
	if (n == 1 && word == '1')
		return SERVES;
	/* It may have been the word that could not be said. */
	if (n == 1 && until(ends_or_serves, NULL, LONG_MS) && !has_ended(daemon_pid))
		return SERVES;
	switch (wait_end(daemon_pid, n == 1 ? LONG_MS : 0, &status)) {
	case ENDED_HUNG:
		problem("the daemon neither serves nor ends");
		break;
	case ENDED_SIGNAL:
		problem("the daemon died of signal %d at its start", status);
		break;
	default:
		if (!status)
			problem("the daemon ended with status 0 at its start");
		if (log_size() == said)
			problem("the daemon gave up without a word, status %d", status);
	}
	daemon_pid = 0;
	return n == 1 ? GAVE_UP : HUNG;
}

void daemon_must_start(void)
{
	char *log;

	disarm();
	if (daemon_start() == SERVES)
		return;
	log = read_text(work_path("daemon.log"));
	problem("the daemon does not start without faults: %s", log + said);
	free(log);
	exit(1);
}

void daemon_stop(void)
{
	int status;

	if (!daemon_pid)
		return;
	kill(daemon_pid, SIGTERM);
	switch (wait_end(daemon_pid, LONG_MS, &status)) {
	case ENDED_HUNG:
		problem("the daemon does not stop");
		break;
	case ENDED_SIGNAL:
		problem("the daemon died of signal %d when it was stopped", status);
		break;
	default:
		if (status && log_size() == said)
			problem("the daemon stopped with status %d, without a word", status);
	}
	daemon_pid = 0;
}

void daemon_kill(void)
{
	int status;

	if (daemon_pid) {
		kill(daemon_pid, SIGKILL);
		(void)wait_end(daemon_pid, LONG_MS, &status);
	}
	daemon_pid = 0;
}

void daemon_check(void)
{
	int status;

	disarm();
	if (!daemon_pid || waitpid(daemon_pid, &status, WNOHANG) != daemon_pid)
		return;
	daemon_pid = 0;
	if (WIFSIGNALED(status))
		problem("the daemon died of signal %d", WTERMSIG(status));
	else
		problem("the daemon ended with status %d", WEXITSTATUS(status));
	daemon_must_start();
}

static int open_client(struct cot_client *client, struct cot_error *err)
{
	setenv("COTENANT_SOCKET", work_path("run/cotenantd.sock"), 1);
	return cot_client_open(client, false, err);
}

pid_t daemon_of_others(void)
{
	struct cot_client client;
	struct cot_error err;
	struct ucred peer = {.pid = 0};
	socklen_t size = sizeof(peer);

	if (open_client(&client, &err) < 0)
		return 0;
	(void)getsockopt(client.fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
	cot_client_close(&client);
	return peer.pid;
}

int ask(enum cot_proto_query what, char **ret_text)
{
	struct cot_client client;
	struct cot_error err = {{0}};
	int rc = open_client(&client, &err);

	if (!rc)
		rc = cot_client_query(&client, what, ret_text, &err);
	cot_client_close(&client);
	if (rc < 0)
		*ret_text = strdup(err.text);
	return rc;
}

int command(const struct cot_msg_command *m, char **ret_text)
{
	struct cot_msg_command copy = *m;
	struct cot_client client;
	struct cot_error err = {{0}};
	int rc = open_client(&client, &err);

	if (!rc)
		rc = cot_client_command(&client, &copy, ret_text, &err);
	cot_client_close(&client);
	if (rc < 0)
		*ret_text = strdup(err.text);
	return rc;
}

static json_t *ask_ps(void)
{
	char *text;
	json_t *ps;

	disarm();
	if (ask(COT_QUERY_PS, &text) < 0) {
		problem("without faults ps says: %s", text);
		free(text);
		return NULL;
	}
	ps = json_loads(text, 0, NULL);
	if (!ps)
		problem("ps is no JSON");
	free(text);
	return ps;
}

bool has_program(const char *name, const char *key, int64_t value)
{
	json_t *ps = ask_ps(), *t, *v;
	bool has = false;
	size_t i;

	json_array_foreach(json_object_get(ps, "tenants"), i, t)
	{
		v = json_object_get(t, key ? key : "id");
		if (name && strcmp(json_string_value(json_object_get(t, "name")), name) != 0)
			continue;
		has |= !key || json_integer_value(v) == value;
	}
	json_decref(ps);
	return has;
}

bool policy_is(const char *name)
{
	json_t *ps = ask_ps();
	const char *policy =
		json_string_value(json_object_get(json_object_get(ps, "daemon"), "policy"));
	bool is = policy && !strcmp(policy, name);

	json_decref(ps);
	return is;
}

unsigned n_pools(void)
{
	json_t *ps = ask_ps(), *p;
	unsigned n = 0;
	size_t i;

	json_array_foreach(json_object_get(ps, "pools"), i, p)
	{
		const char *state = json_string_value(json_object_get(p, "mps"));

		n += !state || (strcmp(state, "down") != 0 && strcmp(state, "failed") != 0);
	}
	json_decref(ps);
	return n;
}

void check_state(void)
{
	json_error_t error;
	json_t *state;

	if (access(work_path("run/state.json"), F_OK) < 0)
		return;
	state = json_load_file(work_path("run/state.json"), 0, &error);
	if (!state)
		problem("state.json is broken: %s", error.text);
	json_decref(state);
}

/* ---- the loops ---- */

static uint64_t stride_of(const struct op *o, unsigned whole)
{
	return whole ? 1 : o->stride ? o->stride : 29;
}

static unsigned loop(bool onward, unsigned whole, unsigned offset)
{
	uint64_t stride = stride_of(op, whole), n = 1 + offset % stride;
	unsigned loops = 0;
	uint64_t begun;

	for (;; n += stride) {
		begun = now_ms();
		arm(n, onward);
		op->act();
		disarm();
		if (now_ms() - begun > SLOW_MS)
			printf("%s, call %llu%s (%s) took %llu ms\n", op->name,
			       (unsigned long long)n, onward ? " and all after it" : "",
			       page->first, (unsigned long long)(now_ms() - begun));
		if (!atomic_load(&page->n_failed) || n_problems >= PROBLEMS_MAX)
			return loops;
		loops++;
	}
}

static void do_op(const struct op *o, unsigned whole, unsigned seed)
{
	uint64_t begun = now_ms();
	unsigned once, onward;

	op = o;
	(void)snprintf(page->program, sizeof(page->program), "%s", o->program);
	(void)snprintf(page->object, sizeof(page->object), "%s", o->object ? o->object : "");
	disarm();
	atomic_store(&page->n, 0);
	page->first[0] = '\0';
	if (o->begin)
		o->begin();
	once = loop(false, whole, seed);
	onward = loop(true, whole, seed / 7);
	atomic_store(&page->n, 0);
	if (o->end)
		o->end();
	daemon_kill();
	if (!none_left(NULL, 0, LONG_MS))
		problem("%u processes were left behind: %s", n_left(NULL, 0), left_name);
	printf("%-16s %5u once %5u onward   calls %5llu   %6.1f s\n", o->name, once, onward,
	       (unsigned long long)atomic_load(&page->n_calls), (double)(now_ms() - begun) / 1000);
	fflush(stdout);
	n_loops += once + onward;
}

static void open_page(void)
{
	int fd;

	(void)snprintf(work, sizeof(work), "%s/cotenant-faults-XXXXXX", P_tmpdir);
	if (!mkdtemp(work))
		exit(2);
	fd = open(work_path("page"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*page)) < 0)
		exit(2);
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		exit(2);
	close(fd);
}

static void do_ops(const struct op *ops, unsigned n, int argc, char **argv, unsigned whole,
		   unsigned seed)
{
	bool wanted;
	unsigned i;
	int k;

	for (i = 0; i < n && n_problems < PROBLEMS_MAX; i++) {
		wanted = argc < 2 && (whole || ops[i].stride);
		for (k = 1; k < argc; k++)
			wanted |= !strcmp(argv[k], ops[i].name);
		if (wanted)
			do_op(&ops[i], whole, seed);
	}
}

static int remove_work(void)
{
	const char *const argv[] = {"rm", "-rf", work, NULL};
	struct result r = run(argv, LONG_MS);

	free_result(&r);
	return 0;
}

int main(int argc, char **argv)
{
	const char *whole = getenv("COTENANT_FAULTS_WHOLE"), *seed = getenv("COTENANT_FAULTS_SEED");
	unsigned start = seed ? (unsigned)strtoul(seed, NULL, 10) : (unsigned)time(NULL);

	if (argc > 1 && !strcmp(argv[1], "--help")) {
		printf("faults [OPERATION...]: see harness.h\n");
		return 0;
	}
	open_page();
	setenv("COTENANT_RUNTIME_DIR", work_path("run"), 1);
	/* For programs of another user, too. */
	if (chmod(work, 0755) || mkdir(work_path("emu"), 0777) || chmod(work_path("emu"), 0777))
		exit(2);
	setenv("COTENANT_EMU_DIR", work_path("emu"), 1);
	setenv("COTENANT_GPUS", "1", 1);
	setenv("LC_ALL", "C", 1);
	write_config("rotate");
	if (!whole)
		printf("a part of all faults, seed %u; COTENANT_FAULTS_WHOLE=1 tries all\n", start);
	do_ops(daemon_ops, n_daemon_ops, argc, argv, whole != NULL, start);
	do_ops(program_ops, n_program_ops, argc, argv, whole != NULL, start);
	printf("%u faults, %u problems\n", n_loops, n_problems);
	if (n_problems)
		printf("see %s\n", work);
	else
		remove_work();
	return n_problems != 0;
}
