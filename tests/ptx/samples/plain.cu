// For clang: no headers and no libraries of CUDA.
#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
#define CONSTANT __attribute__((constant))

struct point {
	float x, y;
	char name[3];
};

DEVICE int counter = 3;
DEVICE int *where = &counter;
CONSTANT float factors[3] = {0.5f, 1, 2};

DEVICE __attribute__((noinline)) int add(int a, int b) { return a + b * counter; }
DEVICE __attribute__((noinline)) point move(point p, float by)
{
	p.x += by;
	p.name[1] = 'm';
	return p;
}

typedef int (*function)(int, int);

KERNEL calls(int *out, function f, point p)
{
	int t = __nvvm_read_ptx_sreg_tid_x();

	out[t] = add(out[t], f(t, 3)) + move(p, 2.5f).name[1];
	*where = out[0];
}

KERNEL sum(const float *in, float *out, int n)
{
	static SHARED float part[128];
	int t = __nvvm_read_ptx_sreg_tid_x(), i = t + __nvvm_read_ptx_sreg_ctaid_x() * 128;

	part[t] = i < n ? in[i] * factors[i % 3] : 0;
	__syncthreads();
	for (int s = 64; s; s >>= 1) {
		if (t < s)
			part[t] += part[t + s];
		__syncthreads();
	}
	if (!t)
		out[__nvvm_read_ptx_sreg_ctaid_x()] = part[0];
}

KERNEL wide(double *d, long long *l, unsigned char *c, int n)
{
	long long local[8];

	for (int i = 0; i < 8; i++)
		local[i] = l[(i * n) & 7];
	for (int i = 0; i < n; i++)
		local[l[i] & 7] += c[i] + (long long)d[i];
	d[0] = (double)local[n & 7] / d[1];
	switch (n) {
	case 1: d[1] = 4; break;
	case 2: d[2] = 5; break;
	case 3: d[3] = 6; break;
	case 4: d[4] = 9; break;
	case 5: l[4] = 9; break;
	}
}
