/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/cli/report/report_rows.h"

int report_read_size(json_t *o, struct size_row *s)
{
    double rerouted = 0, native = 0;
    int rc;

    *s = (struct size_row){.guard_gain = -1};
    rc = json_unpack(o, "{s:I, s:I, s:F, s:I, s:F, s?I, s?I, s?F, s?F, s?F, s?F, s?F, s?o}",
                     "total_bytes_from", &s->from, "rerouted", &s->rerouted, "rerouted_us",
                     &s->rerouted_us, "native", &s->native, "native_us", &s->native_us,
                     "guard_rerouted", &s->guard_rerouted, "guard_native", &s->guard_native,
                     "guard_gain", &s->guard_gain, "guard_spread", &s->guard_spread,
                     "rerouted_us_median", &rerouted, "native_us_median", &native, "median_spread",
                     &s->median_spread, "algorithms", &s->algorithms);
    s->rerouted_us = rerouted > 0 ? rerouted : s->rerouted_us;
    s->native_us = native > 0 ? native : s->native_us;
    return rc;
}

int report_read_collective(json_t *o, struct collective_row *c)
{
    struct size_row s;
    size_t i;
    json_t *size;

    c->balancing = json_object_get(o, "balancing");
    if (json_unpack(o, "{s:s, s:I, s:I, s:s, s:I, s:I, s:o, s:o}", "collective", &c->name, "calls",
                    &c->calls, "rerouted", &c->rerouted, "algorithm", &c->algorithm,
                    "verified_equal", &c->equal, "verified_different", &c->different, "native",
                    &c->reasons, "sizes", &c->sizes) < 0 ||
        !json_is_object(c->reasons) || !json_is_array(c->sizes))
        return -1;
    json_array_foreach(c->sizes, i, size)
    {
        if (report_read_size(size, &s) < 0)
            return -1;
    }
    return 0;
}
