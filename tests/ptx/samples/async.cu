// Asynchronous copies, mbarrier, clusters, cache hints: sm_80 and sm_90.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/atomic>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init

__global__ void pipeline(const int4 *in, int4 *out)
{
	__shared__ int4 stage[2][128];
	int t = threadIdx.x;

	__pipeline_memcpy_async(&stage[0][t], &in[t], sizeof(int4));
	__pipeline_commit();
	__pipeline_memcpy_async(&stage[1][t], &in[t + 128], sizeof(int4), 4);
	__pipeline_commit();
	__pipeline_wait_prior(1);
	__syncthreads();
	out[t] = stage[0][t ^ 1];
	__pipeline_wait_prior(0);
	out[t + 128] = stage[1][t ^ 3];
}

__global__ void barriers(int *a)
{
	__shared__ cuda::barrier<cuda::thread_scope_block> bar;

	if (!threadIdx.x)
		init(&bar, blockDim.x);
	__syncthreads();
	auto token = bar.arrive();
	a[threadIdx.x] = 1;
	bar.wait(std::move(token));
	bar.arrive_and_wait();
}

__global__ void atomics(int *a, long long *b)
{
	cuda::atomic_ref<int, cuda::thread_scope_device> r(*a);
	cuda::atomic_ref<long long, cuda::thread_scope_system> s(*b);

	r.fetch_add(1, cuda::memory_order_acq_rel);
	r.store(r.load(cuda::memory_order_acquire) + 2, cuda::memory_order_release);
	s.fetch_max(3, cuda::memory_order_relaxed);
	int expected = 4;
	r.compare_exchange_strong(expected, 5);
	a[3] = __ldg(a + 1) + __ldcs(a + 2) + __ldcg(a + 3) + __ldlu(a + 7);
	__stcs(a + 4, 5);
	__stwt(a + 5, 6);
	asm volatile("prefetch.global.L2 [%0];" ::"l"(a));
	unsigned long long policy;
	asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 0.5;" : "=l"(policy));
	asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.L2::256B.b32 %0, [%1], %2;"
		     : "=r"(a[8]) : "l"(a), "l"(policy));
	asm volatile("fence.proxy.alias;");
}

#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
__global__ void __cluster_dims__(2, 1, 1) clusters(int *a)
{
	cg::cluster_group c = cg::this_cluster();
	__shared__ int x;

	x = threadIdx.x;
	c.sync();
	a[threadIdx.x] = *c.map_shared_rank(&x, 1) + c.block_rank();
	c.sync();
}

__global__ void bulk(const float *in, float *out, const __grid_constant__ int4 map)
{
	__shared__ __align__(128) float tile[1024];
	__shared__ __align__(8) unsigned long long bar;
	unsigned b = (unsigned)__cvta_generic_to_shared(&bar), t = (unsigned)__cvta_generic_to_shared(tile);

	if (!threadIdx.x) {
		asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b), "r"(1));
		asm volatile("fence.mbarrier_init.release.cluster;");
		asm volatile("fence.proxy.async.shared::cta;");
		asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(4096));
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
			     ::"r"(t), "l"(in), "r"(4096), "r"(b));
		asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
			     "[%0], [%1, {%2, %3}], [%4];" ::"r"(t), "l"(&map), "r"(0), "r"(1), "r"(b));
	}
	__syncthreads();
	asm volatile("{\n\t.reg .pred P1;\n\tLAB_WAIT:\n\t"
		     "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n\t"
		     "@P1 bra DONE;\n\tbra LAB_WAIT;\n\tDONE:\n\t}" ::"r"(b), "r"(0));
	tile[threadIdx.x] *= 2;
	asm volatile("{\n\t.reg .pred P1;\n\tLAB_WAIT:\n\t"
		     "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n\t"
		     "@P1 bra DONE;\n\tbra LAB_WAIT;\n\tDONE:\n\t}" ::"r"(b), "r"(1));
	asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out), "r"(t), "r"(4096));
	asm volatile("cp.async.bulk.commit_group;");
	asm volatile("cp.async.bulk.wait_group.read 0;");
	asm volatile("griddepcontrol.wait;");
	asm volatile("griddepcontrol.launch_dependents;");
	unsigned leader;
	asm volatile("{\n.reg .pred P;\nelect.sync _|P, 0xffffffff;\nselp.b32 %0, 1, 0, P;\n}" : "=r"(leader));
	if (leader)
		atomicAdd((float4 *)out, make_float4(1, 2, 3, 4));
	asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(out), "r"(0x3c003c00));
}
#endif
