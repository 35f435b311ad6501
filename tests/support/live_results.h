/*
 * Results of bench/live that are made up: of a GPU on which 20 us of a request are the host's, and
 * a switch takes 180 us there and 150 us back.
 */
#ifndef COT_TESTS_LIVE_RESULTS_H
#define COT_TESTS_LIVE_RESULTS_H

#define LIVE_CELL(group, start, latency, batch, windows)                                      \
	"{\"id\":\"x\",\"group\":\"" group "\",\"start\":\"" start "\",\"latency\":[" latency \
	"],\"batch\":[" batch "],\"status\":\"ok\",\"windows\":[" windows "]}"
#define LIVE_WINDOW(label, programs) "{\"label\":\"" label "\",\"programs\":{" programs "}}"
#define LIVE_LATENCY(app, p50, p99, rate) \
	"\"" app "\":{\"p50_us\":" #p50 ",\"p99_us\":" #p99 ",\"rate\":" #rate "}"
#define LIVE_NOTED(rate, on, off)                                 \
	"\"L1\":{\"p50_us\":1000,\"p99_us\":1000,\"rate\":" #rate \
	",\"parts\":{\"n\":9,\"on_gpu_p50_us\":" #on ",\"before_and_after_p50_us\":" #off "}}"
#define LIVE_BATCH(app, rate) "\"" app "\":{\"rate\":" #rate ",\"n\":5}"

/*
 * hog: 50 a second alone; of a second 200 requests take 800 + 180 + 150 us each, which leaves
 * 0.774. gemm: 200 alone; 200 requests of 1000 us beside it (1.25 times as long as alone) leave
 * 0.734 of the time, in which it does 10 % more.
 */
#define LIVE_TRAINING                                                                                                   \
	LIVE_CELL("parts", "pools", "\"req-parts\"", "\"hog\"",                                                         \
		  LIVE_WINDOW("alone:L1", LIVE_NOTED(200, 800, 20)) "," LIVE_WINDOW(                                    \
			  "pools",                                                                                      \
			  LIVE_NOTED(200, 800, 210) "," LIVE_BATCH(                                                     \
				  "B1",                                                                                 \
				  38.7)) "," LIVE_WINDOW("slice:1",                                                     \
							 LIVE_NOTED(200, 800, 200) "," LIVE_BATCH(                      \
								 "B1", 38.7)))                                          \
	"," LIVE_CELL(                                                                                                  \
		"parts-gemm", "pools", "\"req-parts\"", "\"gemm\"",                                                     \
		LIVE_WINDOW("alone:L1", LIVE_NOTED(200, 800, 20)) "," LIVE_WINDOW(                                      \
			"pools",                                                                                        \
			LIVE_NOTED(200, 1000, 210) "," LIVE_BATCH(                                                      \
				"B1",                                                                                   \
				161.48))) "," LIVE_CELL("b0", "plain", "", "\"gemm\",\"hog\"",                          \
							LIVE_WINDOW("alone:B1", LIVE_BATCH("B1", 200)) "," LIVE_WINDOW( \
								"alone:B2", LIVE_BATCH("B2", 50)))

#define LIVE_RUN(cells)                                                                             \
	"{\"schema\":\"cotenant-live/1\",\"machine\":{\"gpu\":\"NVIDIA H200\",\"date\":\"a day\"}," \
	"\"rows\":[],\"cells\":[" cells "]}\n"

#endif
