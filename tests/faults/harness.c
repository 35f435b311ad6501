#include "harness.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "page.h"

/* What takes so long is told, but may be right: a daemon, say, tries again after a while. */
#define SLOW_MS	     1000u
#define PROBLEMS_MAX 12u

static struct fault_page *page;
static char work[64];
static const struct op *op; /* that is being done */
static unsigned n_problems, n_loops;

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

static bool daemon_waits(const void *arg)
{
	(void)arg;
	return atomic_load(&page->waits) == daemon_pid || has_ended(daemon_pid);
}

/*
 * A daemon may be in the middle of what it does about a fault, such as to turn away whoever comes:
 * what is asked without faults comes after that. One that hangs is found by what asks.
 */
void disarm(void)
{
	atomic_store(&page->armed, 0);
	if (daemon_pid && atomic_load(&page->n_failed) && !strcmp(page->program, "cotenantd"))
		(void)until(daemon_waits, NULL, SLOW_MS);
}

void rearm(void)
{
	arm(atomic_load(&page->n), atomic_load(&page->onward));
}

bool is_onward(void)
{
	return atomic_load(&page->onward);
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
	char left[NAME_TEXT] = "";
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
	if (!none_left(LONG_MS))
		problem("%u processes were left behind, such as %s", n_left(left), left);
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
	do_ops(pool_ops, n_pool_ops, argc, argv, whole != NULL, start);
	do_ops(program_ops, n_program_ops, argc, argv, whole != NULL, start);
	printf("%u faults, %u problems\n", n_loops, n_problems);
	if (n_problems)
		printf("see %s\n", work);
	else
		remove_work();
	return n_problems != 0;
}
