/*
 * Kernels whose work is known: so many instructions of one kind and so many bytes in every chunk.
 * Each warp works by itself, chunk after chunk, from a moment that all warps wait for until the end
 * of a window, and says how many chunks it did between two looks at the clock. So neither a launch
 * nor warps that come late or leave early are in what is measured.
 *
 * The arithmetic is in assembly, so that no compiler shortens it. Additions of products go round on
 * x * x + d with d between -2 and -1.5, which never settles: its bits change as those of real
 * numbers do, and so does the power.
 */
#include "kernels/cuda_min.h"

typedef unsigned u32;
typedef unsigned long long u64;

#define LANES 32
#define KIB   1024
#define ANYWHERE ((u64)2 << 30) /* what the GPU has page tables at hand for */

struct settings {
	char *data;
	u64 size;		/* a power of two; 64 KiB more are there */
	u64 start, open, close; /* %globaltimer */
	u32 zero;		/* 0, which the compiler must not know */
};

struct record {
	u64 first, open, close; /* when it came, and the looks that count; 0 if it never got there */
	u64 chunks, cycles;	/* between these */
	u32 sm, sink;
};

static __device__ __forceinline__ u64 timer()
{
	u64 t;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
	return t;
}

/* The same in all lanes, so that a warp stays together. */
static __device__ __forceinline__ u64 look()
{
	u64 t = timer();
	u32 lo = (u32)t, hi = (u32)(t >> 32);

	asm volatile("shfl.sync.idx.b32 %0, %0, 0, 31, 0xffffffff;" : "+r"(lo));
	asm volatile("shfl.sync.idx.b32 %0, %0, 0, 31, 0xffffffff;" : "+r"(hi));
	return (u64)hi << 32 | lo;
}

static __device__ __forceinline__ u64 cycles()
{
	u64 t;

	asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
	return t;
}

static __device__ __forceinline__ u32 lane()
{
	return threadIdx.x % LANES;
}

static __device__ __forceinline__ u32 warp()
{
	return blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES;
}

static __device__ __forceinline__ u32 n_warps()
{
	return gridDim.x * (blockDim.x / LANES);
}

/* ---- single instructions ---- */

static __device__ __forceinline__ void square(float &x, float d)
{
	asm volatile("fma.rn.f32 %0, %0, %0, %1;" : "+f"(x) : "f"(d));
}

static __device__ __forceinline__ void add_product(float &sum, float a, float b)
{
	asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(sum) : "f"(a), "f"(b));
}

template <int BYTES> struct word;

template <> struct word<4> {
	float a;

	__device__ __forceinline__ void load(const char *p)
	{
		asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(a) : "l"(p));
	}
	__device__ __forceinline__ void store(char *p) const
	{
		asm volatile("st.global.cg.f32 [%0], %1;" ::"l"(p), "f"(a) : "memory");
	}
	__device__ __forceinline__ void use(float *sum, float c) const
	{
		add_product(sum[0], a, c);
	}
};

template <> struct word<16> {
	float a, b, c, d;

	__device__ __forceinline__ void load(const char *p)
	{
		asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
			     : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
			     : "l"(p));
	}
	__device__ __forceinline__ void store(char *p) const
	{
		asm volatile("st.global.cg.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(a), "f"(b),
			     "f"(c), "f"(d)
			     : "memory");
	}
	__device__ __forceinline__ void use(float *sum, float k) const
	{
		add_product(sum[0], a, k);
		add_product(sum[1], b, k);
		add_product(sum[0], c, k);
		add_product(sum[1], d, k);
	}
};

/* ---- chunks ---- */

/*
 * A warp's way through the data. It has a part of its own: warps that read the same one after the
 * other would fall into step, all but the first finding it in the cache, and those that the SM
 * favours must not stay in a part that fits there. Where there is little data, which shall be in
 * the cache, all go through all of it. No two of 64 warps begin at the same address modulo 64 KiB.
 */
template <int CHUNK> struct path {
	char *at, *first, *end;

	__device__ __forceinline__ void begin(char *data, u64 size, int offset)
	{
		u64 chunks = size / CHUNK, own = chunks / n_warps(), w = warp();

		if (own >= 4) {
			own = (own - 1) | 1; /* odd: no step is a power of two */
			first = data + w * own * CHUNK + w % 64 * KIB + offset;
			end = first + own * CHUNK;
			at = first;
		} else {
			first = data + offset;
			end = first + chunks * CHUNK;
			at = first + w % chunks * CHUNK;
		}
	}
	__device__ __forceinline__ char *next()
	{
		char *p = at;

		at += CHUNK;
		if (at == end)
			at = first;
		return p;
	}
};

/* WIDTH bytes a lane and load, AHEAD loads before the first is used, FMAS more for each load. */
template <int WIDTH, int AHEAD, int FMAS, int CHUNK> struct reading {
	path<CHUNK> way;
	float sum[2], x[4], d, k;

	__device__ __forceinline__ void begin(const settings &s)
	{
		way.begin(s.data, s.size, lane() * WIDTH);
		d = -1.9f - 0.001f * (float)(warp() % 64);
		k = 0.001f;
		sum[0] = sum[1] = 0.0f;
#pragma unroll
		for (int i = 0; i < 4; i++)
			x[i] = 0.1f + 0.01f * (float)(lane() * 4 + i);
	}
	__device__ __forceinline__ void chunk()
	{
		const char *p = way.next();

#pragma unroll 1
		for (int i = 0; i < CHUNK / (WIDTH * LANES * AHEAD); i++) {
			word<WIDTH> w[AHEAD];

#pragma unroll
			for (int j = 0; j < AHEAD; j++)
				w[j].load(p + j * WIDTH * LANES);
#pragma unroll
			for (int j = 0; j < AHEAD; j++) {
				w[j].use(sum, k);
#pragma unroll
				for (int f = 0; f < FMAS; f++)
					square(x[f % 4], d);
			}
			p += WIDTH * LANES * AHEAD;
		}
	}
	__device__ __forceinline__ float result() const
	{
		return sum[0] + sum[1] + x[0] + x[1] + x[2] + x[3];
	}
};

/* From one half of the data to the other, 16 bytes a lane. */
template <int AHEAD, int CHUNK> struct copying {
	path<CHUNK> way;
	u64 half;

	__device__ __forceinline__ void begin(const settings &s)
	{
		half = s.size / 2;
		way.begin(s.data, half, lane() * 16);
	}
	__device__ __forceinline__ void chunk()
	{
		char *p = way.next(), *q = p + half;

#pragma unroll 1
		for (int i = 0; i < CHUNK / (16 * LANES * AHEAD); i++) {
			word<16> w[AHEAD];

#pragma unroll
			for (int j = 0; j < AHEAD; j++)
				w[j].load(p + j * 16 * LANES);
#pragma unroll
			for (int j = 0; j < AHEAD; j++)
				w[j].store(q + j * 16 * LANES);
			p += 16 * LANES * AHEAD;
			q += 16 * LANES * AHEAD;
		}
	}
	__device__ __forceinline__ float result() const
	{
		return 0.0f;
	}
};

/* Every lane reads a sector of its own, anywhere. */
template <int AHEAD, int LOADS> struct gathering {
	const char *base;
	u64 mask;
	u32 seed;
	float sum[2];

	__device__ __forceinline__ void begin(const settings &s)
	{
		base = s.data;
		mask = (s.size < ANYWHERE ? s.size : ANYWHERE) - 1;
		seed = (warp() * LANES + lane()) * 2654435761u + 12345u;
		sum[0] = sum[1] = 0.0f;
	}
	__device__ __forceinline__ void chunk()
	{
#pragma unroll 1
		for (int i = 0; i < LOADS / AHEAD; i++) {
			word<4> w[AHEAD];

#pragma unroll
			for (int j = 0; j < AHEAD; j++) {
				seed = seed * 1664525u + 1013904223u;
				w[j].load(base + (((u64)seed << 5) & mask));
			}
#pragma unroll
			for (int j = 0; j < AHEAD; j++)
				w[j].use(sum, 0.001f);
		}
	}
	__device__ __forceinline__ float result() const
	{
		return sum[0];
	}
};

/* One load at a time, each after the last has come, anywhere. */
template <int LOADS> struct chasing {
	const char *base;
	u64 mask, next;
	u32 seed, zero;

	__device__ __forceinline__ void begin(const settings &s)
	{
		base = s.data;
		mask = (s.size < ANYWHERE ? s.size : ANYWHERE) - 1;
		seed = (warp() + 1) * 2654435761u;
		zero = s.zero;
		next = 0;
	}
	__device__ __forceinline__ void chunk()
	{
#pragma unroll 1
		for (int i = 0; i < LOADS; i++) {
			u32 value;

			seed = seed * 1664525u + 1013904223u;
			asm volatile("ld.global.cg.u32 %0, [%1];"
				     : "=r"(value)
				     : "l"(base + (((u64)seed << 7) & mask) + next));
			asm volatile("and.b32 %0, %0, %1;" : "+r"(value) : "r"(zero));
			next = value;
		}
	}
	__device__ __forceinline__ float result() const
	{
		return (float)next;
	}
};

/* CHAINS multiply-adds that do not wait for each other. */
template <int CHAINS, int COUNT> struct multiplying {
	float x[CHAINS], d;

	__device__ __forceinline__ void begin(const settings &)
	{
		d = -1.9f - 0.001f * (float)(warp() % 64);
#pragma unroll
		for (int i = 0; i < CHAINS; i++)
			x[i] = 0.1f + 0.01f * (float)(lane() * 4 + i);
	}
	__device__ __forceinline__ void chunk()
	{
#pragma unroll 1
		for (int i = 0; i < COUNT / 256; i++) {
#pragma unroll
			for (int j = 0; j < 256; j++)
				square(x[j % CHAINS], d);
		}
	}
	__device__ __forceinline__ float result() const
	{
		float all = 0.0f;

#pragma unroll
		for (int i = 0; i < CHAINS; i++)
			all += x[i];
		return all;
	}
};

/* The same in double precision. */
template <int COUNT> struct multiplying_doubles {
	double x[4], d;

	__device__ __forceinline__ void begin(const settings &)
	{
		d = -1.9 - 0.001 * (double)(warp() % 64);
#pragma unroll
		for (int i = 0; i < 4; i++)
			x[i] = 0.1 + 0.01 * (double)(lane() * 4 + i);
	}
	__device__ __forceinline__ void chunk()
	{
#pragma unroll 1
		for (int i = 0; i < COUNT / 256; i++) {
#pragma unroll
			for (int j = 0; j < 256; j++)
				asm volatile("fma.rn.f64 %0, %0, %0, %1;" : "+d"(x[j % 4]) : "d"(d));
		}
	}
	__device__ __forceinline__ float result() const
	{
		return (float)(x[0] + x[1] + x[2] + x[3]);
	}
};

/* Integers: a product, a sum or a logical operation in turn. */
template <int COUNT> struct whole_numbers {
	u32 x[4];

	__device__ __forceinline__ void begin(const settings &)
	{
#pragma unroll
		for (int i = 0; i < 4; i++)
			x[i] = (warp() * LANES + lane()) * 2654435761u + i;
	}
	__device__ __forceinline__ void chunk()
	{
#pragma unroll 1
		for (int i = 0; i < COUNT / 256; i++) {
#pragma unroll
			for (int j = 0; j < 256; j++) {
				u32 &a = x[j % 4], b = x[(j + 1) % 4];

				if (j % 2)
					asm volatile("lop3.b32 %0, %0, %1, 0x5bd1e995, 0x96;"
						     : "+r"(a)
						     : "r"(b));
				else
					asm volatile("mad.lo.u32 %0, %0, 1664525, %1;"
						     : "+r"(a)
						     : "r"(b));
			}
		}
	}
	__device__ __forceinline__ float result() const
	{
		return (float)(x[0] ^ x[1] ^ x[2] ^ x[3]);
	}
};

/* The special function unit. */
template <int COUNT> struct special {
	float x[4];

	__device__ __forceinline__ void begin(const settings &)
	{
#pragma unroll
		for (int i = 0; i < 4; i++)
			x[i] = 0.1f + 0.01f * (float)(lane() * 4 + i);
	}
	__device__ __forceinline__ void chunk()
	{
#pragma unroll 1
		for (int i = 0; i < COUNT / 128; i++) {
#pragma unroll
			for (int j = 0; j < 128; j++)
				asm volatile("cos.approx.ftz.f32 %0, %0;" : "+f"(x[j % 4]));
		}
	}
	__device__ __forceinline__ float result() const
	{
		return x[0] + x[1] + x[2] + x[3];
	}
};

/* Shared memory, 16 bytes a lane, no bank twice in a quarter of a warp. */
template <int COUNT> struct sharing {
	u32 at;
	float sum[2];

	__device__ __forceinline__ void begin(const settings &)
	{
		static __shared__ float memory[2048];

		for (u32 i = threadIdx.x; i < 2048; i += blockDim.x)
			memory[i] = 1.0f + 0.001f * (float)i;
		asm volatile("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }"
			     : "=r"(at)
			     : "l"(memory));
		asm volatile("bar.sync 0;" ::: "memory");
		at += lane() * 16;
		sum[0] = sum[1] = 0.0f;
	}
	__device__ __forceinline__ void chunk()
	{
#pragma unroll 1
		for (int i = 0; i < COUNT / 4; i++) {
#pragma unroll
			for (int j = 0; j < 4; j++) {
				float a, b, c, d;

				asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
					     : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
					     : "r"(at + j * 512));
				add_product(sum[0], a, b);
				add_product(sum[1], c, d);
			}
		}
	}
	__device__ __forceinline__ float result() const
	{
		return sum[0] + sum[1];
	}
};

/* ---- warps ---- */

template <class Work> static __device__ __forceinline__ void work(settings s, record *records)
{
	record r = {};
	u64 t = look(), n = 0, n_before = 0, cycles_before = 0;
	Work w;

	r.first = t;
	w.begin(s);
	while (t < s.start)
		t = look();
	for (;;) {
		t = look();
		if (!r.open && t >= s.open) {
			r.open = t;
			n_before = n;
			cycles_before = cycles();
		}
		if (t >= s.close)
			break;
		w.chunk();
		n++;
	}
	r.close = t;
	r.chunks = n - n_before;
	r.cycles = cycles() - cycles_before;
	asm volatile("mov.u32 %0, %%smid;" : "=r"(r.sm));
	r.sink = (u32)(int)w.result();
	if (!lane())
		records[warp()] = r;
}

#define KERNEL(name, threads, blocks, ...)                                                \
	extern "C" __global__ __attribute__((launch_bounds(threads, blocks))) void name(  \
		settings s, record *records)                                               \
	{                                                                                  \
		work<__VA_ARGS__>(s, records);                                             \
	}

KERNEL(read4x1, 1024, 2, reading<4, 1, 0, 64 * KIB>)
KERNEL(read4x4, 1024, 2, reading<4, 4, 0, 64 * KIB>)
KERNEL(read16x1, 1024, 2, reading<16, 1, 0, 64 * KIB>)
KERNEL(read16x2, 1024, 2, reading<16, 2, 0, 64 * KIB>)
KERNEL(read16x8, 1024, 1, reading<16, 8, 0, 64 * KIB>)
KERNEL(mix8, 1024, 2, reading<16, 2, 4, 64 * KIB>)
KERNEL(mix16, 1024, 2, reading<16, 2, 12, 64 * KIB>)
KERNEL(mix32, 1024, 2, reading<16, 2, 28, 32 * KIB>)
KERNEL(mix64, 1024, 2, reading<16, 2, 60, 16 * KIB>)
KERNEL(mix128, 1024, 2, reading<16, 2, 124, 8 * KIB>)
KERNEL(mix256, 1024, 2, reading<16, 2, 252, 8 * KIB>)
KERNEL(copy16x2, 1024, 2, copying<2, 64 * KIB>)
KERNEL(gather, 1024, 2, gathering<4, 64>)
KERNEL(chase, 1024, 2, chasing<32>)
KERNEL(fma1, 1024, 2, multiplying<1, 8192>)
KERNEL(fma4, 1024, 2, multiplying<4, 16384>)
KERNEL(dfma, 1024, 2, multiplying_doubles<4096>)
KERNEL(whole, 1024, 2, whole_numbers<8192>)
KERNEL(special_function, 1024, 2, special<2048>)
KERNEL(shared_memory, 1024, 2, sharing<2048>)

/* ---- helpers ---- */

/* Floats from 1 to 2 whose bits look like chance. */
extern "C" __global__ void fill(u32 *data, u64 n)
{
	u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;

	for (; i < n; i += (u64)gridDim.x * blockDim.x) {
		u32 h = (u32)i * 2654435761u;

		h ^= h >> 15;
		h *= 2246822519u;
		h ^= h >> 13;
		data[i] = 0x3f800000u | h >> 9;
	}
}

/* The time, for the host; how far it goes in one step, and what a look costs in cycles. */
extern "C" __global__ void what_time(u64 *ret)
{
	u64 t = timer(), step = ~0ull, last = t, c = cycles();

	for (int i = 0; i < 1000; i++) {
		u64 t2 = timer();

		if (t2 != last && t2 - last < step)
			step = t2 - last;
		last = t2;
	}
	ret[2] = cycles() - c;
	ret[1] = step;
	ret[0] = timer();
}
