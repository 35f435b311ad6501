/*
 * The H200 (NVIDIA GH100 with HBM3e and PCIe 5.0 x16) as sold: what the simulator's table of GPUs
 * (gpu.c) and the models' (kernels.c) both say of it. What only one of them needs was measured
 * (results/h200/2026-11-22/contention) and stands there.
 *
 * Of the bandwidth of its memory the models have what can be had, 4719 GB/s as measured; the
 * simulator has this peak and takes 0.983 of it.
 */
#ifndef COT_TRACE_H200_H
#define COT_TRACE_H200_H

#define COT_H200_SMS		132
#define COT_H200_CLOCK_MHZ	1980
#define COT_H200_THREADS_PER_SM 2048
#define COT_H200_BLOCKS_PER_SM	32
#define COT_H200_REGS_PER_SM	65536
#define COT_H200_SHMEM_PER_SM	(228 * 1024)
#define COT_H200_PEAK_GBPS	4800
#define COT_H200_PCIE_GBPS	63

#endif
