/*
 * Requests at the rate that the runner says on a shared page, while the program runs: open loop, Poisson
 * arrivals. livebench/board.py is the other side and says what the fields are.
 */
#ifndef COT_BENCH_LIVE_ORDERS_CUH
#define COT_BENCH_LIVE_ORDERS_CUH

#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <deque>

struct board {
	volatile uint64_t generation;
	volatile double rate;
	volatile uint64_t seed, answered, busy_ns, waiting;
};

/* RANDOM has a state and draws uniform(), 0 < x <= 1; GIVE_UP(arrival) gets what will not be answered. */
template <class RANDOM> struct orders {
	struct board *board = NULL;
	uint64_t generation = 0;
	RANDOM random = {};
	double mean_ns = 0;
	int64_t next_ns = INT64_MAX;
	std::deque<int64_t> arrived;

	bool open(const char *path)
	{
		int fd = ::open(path, O_RDWR);
		void *page = fd < 0 ? MAP_FAILED
				    : mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED,
					   fd, 0);

		if (fd >= 0)
			close(fd);
		if (page != MAP_FAILED)
			board = (struct board *)page;
		return board != NULL;
	}

	int64_t gap()
	{
		return (int64_t)(-log(random.uniform()) * mean_ns);
	}

	void arrive(int64_t now)
	{
		for (; next_ns <= now; next_ns += gap())
			arrived.push_back(next_ns);
		board->waiting = arrived.size();
	}

	template <class GIVE_UP> void give_up(GIVE_UP lost)
	{
		for (int64_t arrival : arrived)
			lost(arrival);
		arrived.clear();
	}

	/* What the runner wants may have changed. */
	template <class GIVE_UP> void obey(int64_t now, GIVE_UP lost)
	{
		if (board->generation == generation)
			return;
		generation = board->generation;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		arrive(now);
		if (board->seed) {
			give_up(lost);
			random.state = board->seed;
		}
		mean_ns = board->rate > 0 ? 1e9 / board->rate : 0;
		next_ns = board->rate > 0 ? now + gap() : INT64_MAX;
	}

	/* The arrival of the next request, or 0: none is there. */
	int64_t take(int64_t now)
	{
		int64_t arrival;

		arrive(now);
		if (arrived.empty())
			return 0;
		arrival = arrived.front();
		arrived.pop_front();
		return arrival;
	}

	void answer(int64_t took_ns)
	{
		board->busy_ns += (uint64_t)took_ns;
		board->answered++;
		board->waiting = arrived.size();
	}
};

#endif
