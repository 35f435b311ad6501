/*
 * GPUs as sold, each figure once: for the simulator's table (src/trace/gpu.c), the models'
 * (src/trace/kernels.c) and the emulated GPU (src/emu). What was measured, or chosen, stands with
 * those who need it.
 *
 * Of the bandwidth of the H200's memory the models have what can be had, 4719 GB/s as measured; the
 * simulator has this peak and takes 0.983 of it. Of the K20c's clock the emulated GPU has what its
 * driver says, 705.5 MHz; this one is rounded.
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

/* NVIDIA GK110 with GDDR5 and PCIe 2.0 x16 */
#define COT_K20C_SMS		13
#define COT_K20C_CLOCK_MHZ	706
#define COT_K20C_THREADS_PER_SM 2048
#define COT_K20C_BLOCKS_PER_SM	16
#define COT_K20C_REGS_PER_SM	65536
#define COT_K20C_SHMEM_PER_SM	(48 * 1024)
#define COT_K20C_PEAK_GBPS	208
#define COT_K20C_PCIE_GBPS	8

#endif
