/*
 * GPUs as sold, each figure once: for the simulator's table (src/trace/gpu.c), the models'
 * (src/trace/kernels.c) and the emulated GPU (src/emu). Measured or chosen values are with the code
 * that needs them.
 *
 * For the bandwidth of the H200's memory the models use the measured 4719 GB/s; the simulator uses
 * this peak times 0.983. For the K20c's clock the emulated GPU reports what its driver says, 705.5
 * MHz; this value is rounded.
 */
#ifndef COT_BASE_GPU_SHEET_H
#define COT_BASE_GPU_SHEET_H

/* NVIDIA GH100 with HBM3e and PCIe 5.0 x16 */
#define COT_H200_SMS		132
#define COT_H200_CLOCK_MHZ	1980
#define COT_H200_THREADS_PER_SM 2048
#define COT_H200_BLOCKS_PER_SM	32
#define COT_H200_REGS_PER_SM	65536
#define COT_H200_SHMEM_PER_SM	(228 * 1024)
#define COT_H200_PEAK_GBPS	4800
#define COT_H200_PCIE_GBPS	63
#define COT_H200_MEMORY_MIB	143771ull /* as its driver says */

/* NVIDIA GK110 with GDDR5 and PCIe 2.0 x16 */
#define COT_K20C_SMS		13
#define COT_K20C_CLOCK_MHZ	706
#define COT_K20C_THREADS_PER_SM 2048
#define COT_K20C_BLOCKS_PER_SM	16
#define COT_K20C_REGS_PER_SM	65536
#define COT_K20C_SHMEM_PER_SM	(48 * 1024)
#define COT_K20C_PEAK_GBPS	208
#define COT_K20C_PCIE_GBPS	8
#define COT_K20C_MEMORY_MIB	4742ull

#endif
