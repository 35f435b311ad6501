/*
 * What the benchmark's C/CUDA programs share: clock, arguments, signals, the start by hand-shake,
 * and the file that they leave.
 *
 * Life of a program: warm up; write the file --ready; wait for the file --go; work until SIGTERM
 * (or --life seconds have passed); write --out (JSON) and --out.bin (events). SIGUSR1 makes it
 * pause with an idle GPU, SIGUSR2 go on. Times are CLOCK_MONOTONIC in ns, so that the runner can
 * cut the events of several programs by the same windows.
 *
 * An event is three int64: latency programs {arrival, start, end}; batch programs {start, end,
 * units of work}.
 */
#ifndef COT_BENCH_LIVE_COMMON_CUH
#define COT_BENCH_LIVE_COMMON_CUH

#include <cuda_runtime.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <string>
#include <vector>

#define EVENTS_MAX (4u << 20)

static volatile sig_atomic_t stopping, paused;
static int64_t life_end_ns = INT64_MAX;

static inline int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static inline void sleep_us(int64_t us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&t, NULL);
}

static inline bool is_stopping(void)
{
	return stopping || now_ns() >= life_end_ns;
}

/* ---- arguments: --key value ---- */

struct arguments {
	int n;
	char **v;

	const char *text(const char *key, const char *otherwise) const
	{
		for (int i = 1; i + 1 < n; i++)
			if (!strcmp(v[i], key))
				return v[i + 1];
		return otherwise;
	}
	double number(const char *key, double otherwise) const
	{
		const char *t = text(key, NULL);

		return t ? atof(t) : otherwise;
	}
	bool has(const char *key) const
	{
		for (int i = 1; i < n; i++)
			if (!strcmp(v[i], key))
				return true;
		return false;
	}
};

/* ---- the result ---- */

struct result {
	std::string json = "{";
	std::vector<int64_t> events;
	std::string path;

	void raw(const char *key, const std::string &value)
	{
		if (json.size() > 1)
			json += ", ";
		json += '"';
		json += key;
		json += "\": ";
		json += value;
	}
	void text(const char *key, const char *value)
	{
		std::string quoted = "\"";

		for (; *value; value++) {
			if (*value == '"' || *value == '\\')
				quoted += '\\';
			quoted += (unsigned char)*value < ' ' ? ' ' : *value;
		}
		raw(key, quoted + "\"");
	}
	void number(const char *key, double value)
	{
		char t[40];

		snprintf(t, sizeof(t), "%.17g", value);
		raw(key, t);
	}
	void integer(const char *key, int64_t value)
	{
		raw(key, std::to_string((long long)value));
	}
	void event(int64_t a, int64_t b, int64_t c)
	{
		if (events.size() >= 3u * EVENTS_MAX)
			return;
		events.push_back(a);
		events.push_back(b);
		events.push_back(c);
	}
	/* Into a file of another name first: who sees the file sees all of it. */
	void write()
	{
		std::string fresh = path + ".new", bin = path + ".bin";
		FILE *f;

		integer("t_end_ns", now_ns());
		if (path.empty()) {
			printf("%s}\n", json.c_str());
			return;
		}
		f = fopen(bin.c_str(), "wb");
		if (f) {
			fwrite(events.data(), sizeof(int64_t), events.size(), f);
			fclose(f);
		}
		f = fopen(fresh.c_str(), "w");
		if (f) {
			fprintf(f, "%s}\n", json.c_str());
			fclose(f);
			rename(fresh.c_str(), path.c_str());
		}
	}
};

static struct result result;

static inline void fail(const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fprintf(stderr, "%s\n", text);
	result.text("error", text);
	result.write();
	_exit(3);
}

#define CHECK(call)                                                      \
	do {                                                             \
		cudaError_t check_rc = (call);                           \
		if (check_rc != cudaSuccess)                             \
			fail("%s:%d: %s: %s", __FILE__, __LINE__, #call, \
			     cudaGetErrorString(check_rc));              \
	} while (0)

/* ---- start, pause, end ---- */

static void on_signal(int number)
{
	if (number == SIGUSR1)
		paused = 1;
	else if (number == SIGUSR2)
		paused = 0;
	else
		stopping = 1;
}

static inline void begin(const struct arguments &a, const char *program, const char *role)
{
	struct sigaction act;

	memset(&act, 0, sizeof(act));
	act.sa_handler = on_signal;
	act.sa_flags = SA_RESTART;
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGUSR2, &act, NULL);
	/* No program outlives its runner; a gentle end, for MPS does not stand a rough one. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_TIMERSLACK, 1000);
	life_end_ns = now_ns() + (int64_t)(a.number("--life", 120) * 1e9);
	result.path = a.text("--out", "");
	result.text("program", program);
	result.text("role", role);
	result.integer("pid", getpid());
	result.integer("t_begin_ns", now_ns());
}

static inline void touch(const char *path)
{
	FILE *f = *path ? fopen(path, "w") : NULL;

	if (f)
		fclose(f);
}

static inline void ready_and_wait(const struct arguments &a)
{
	const char *go = a.text("--go", "");

	result.integer("t_ready_ns", now_ns());
	touch(a.text("--ready", ""));
	while (*go && access(go, F_OK) != 0 && !is_stopping())
		sleep_us(1000);
	result.integer("t_go_ns", now_ns());
}

/* Call it with an idle GPU. */
static inline void wait_while_paused(void)
{
	while (paused && !is_stopping())
		sleep_us(200);
}

/* ---- numbers ---- */

struct random_bits {
	uint64_t state;

	uint64_t next()
	{
		uint64_t z = (state += 0x9e3779b97f4a7c15ull);

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
		return z ^ (z >> 31);
	}
	/* 0 < x <= 1 */
	double uniform()
	{
		return ((next() >> 11) + 1) * 0x1p-53;
	}
};

static inline uint64_t fnv1a(const void *bytes, size_t n, uint64_t h = 0xcbf29ce484222325ull)
{
	const uint32_t *words = (const uint32_t *)bytes;

	for (size_t i = 0; i < n / 4; i++)
		h = (h ^ words[i]) * 0x100000001b3ull;
	return h;
}

#endif
