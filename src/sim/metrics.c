#include "sim/metrics.h"

struct cot_multi_metrics cot_multi_metrics(const double *single_us, const double *multi_us,
					   uint32_t n)
{
	struct cot_multi_metrics m = {0};
	double np_min = 0.0, np_max = 0.0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		double np = single_us[i] / multi_us[i];

		m.antt += 1.0 / np;
		m.stp += np;
		if (i == 0 || np < np_min)
			np_min = np;
		if (i == 0 || np > np_max)
			np_max = np;
	}
	m.antt /= n;
	m.fairness = np_min / np_max;
	return m;
}
