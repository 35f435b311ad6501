/*
 * The programs and the ways of bench/live: what their sources say of them (bench/live/req.cu,
 * hog.cu, tenants.py, livebench/programs.py, livebench/cells.py). How long they take is measured.
 */
#include <string.h>

#include "base/compiler.h"
#include "study/live/live.h"

const char *const cot_live_policies[COT_LIVE_N_POLICIES] = {"timeslice", "pools", "rotate",
							    "parts"};

const struct cot_live_way cot_live_ways[] = {
	{"timeslice", COT_LIVE_TIMESLICE, 0, 0}, {"pools", COT_LIVE_POOLS, 0, 0},
	{"rotate", COT_LIVE_ROTATE, 0, 0},	 {"parts32", COT_LIVE_PARTS, 32, 0},
	{"parts64", COT_LIVE_PARTS, 64, 0},	 {"parts96", COT_LIVE_PARTS, 96, 0},
	{"parts112", COT_LIVE_PARTS, 112, 0},	 {"parts64-rest", COT_LIVE_PARTS, 64, 64},
};
const uint32_t cot_live_n_ways = COT_ARRAY_LEN(cot_live_ways);

/* A request that should be at work for so much of the time, of so many us by the runner's table. */
#define LOAD(us, part) ((us) * (1 - (part)) / (part))
#define NETWORK(name, load, us, part)                                                  \
	{                                                                              \
		name "@" load, name, COT_LIVE_NETWORK, LOAD(us, part), false, false, 0 \
	}
#define HOST(name, load)                                               \
	{                                                              \
		name "@" load, name, COT_LIVE_HOST, 0, false, false, 0 \
	}

#define REQ_BLOCKS 16u
/* 12288 x 12288 in tiles of 128 x 256. */
#define GEMM_BLOCKS 4608u
/* Its blocks compute, and those that are left at the end are the faster: as if they were small. */
#define HOG_BLOCKS  8448u
#define COPY_BLOCKS 2112u
/* Kernels of an iteration: launches over iterations, of results/h200/2026-11-23/parts-3 and
 * parts-2/right.json. */
#define RESNET_KERNELS 900u
#define BERT_KERNELS   1080u

static const struct cot_live_program programs[] = {
	{"req", NULL, COT_LIVE_REQUEST, 4000, false, false, REQ_BLOCKS},
	{"req@1ms", "req", COT_LIVE_REQUEST, 1000, false, false, REQ_BLOCKS},
	{"req@300us", "req", COT_LIVE_REQUEST, 300, false, false, REQ_BLOCKS},
	{"req-open", "req", COT_LIVE_REQUEST, 4000, true, false, REQ_BLOCKS},
	{"req-graph", "req", COT_LIVE_REQUEST, 4000, false, false, REQ_BLOCKS},
	NETWORK("resnet-graph", "low", 950, 0.1),
	NETWORK("resnet-graph", "medium", 950, 0.3),
	NETWORK("resnet-graph", "high", 950, 0.6),
	NETWORK("bert-graph", "low", 1070, 0.1),
	NETWORK("bert-graph", "medium", 1070, 0.3),
	NETWORK("bert-graph", "high", 1070, 0.6),
	HOST("resnet-eager", "low"),
	HOST("resnet-eager", "medium"),
	HOST("resnet-eager", "high"),
	HOST("gpt", "low"),
	HOST("gpt", "medium"),
	HOST("gpt", "high"),
	HOST("gpt", "busy"),
	{"hog", NULL, COT_LIVE_PRODUCT, 0, false, false, HOG_BLOCKS},
	{"gemm", NULL, COT_LIVE_PRODUCT, 0, false, true, GEMM_BLOCKS},
	{"copy", NULL, COT_LIVE_COPY, 0, false, false, COPY_BLOCKS},
	{"dma", NULL, COT_LIVE_ENGINE, 0, false, false, 0},
	{"resnet-train", NULL, COT_LIVE_TRAINING, 0, false, false, RESNET_KERNELS},
	{"bert-train", NULL, COT_LIVE_TRAINING, 0, false, false, BERT_KERNELS},
};

const struct cot_live_program *cot_live_program_find(const char *name)
{
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(programs); i++)
		if (!strcmp(programs[i].name, name))
			return &programs[i];
	return NULL;
}
