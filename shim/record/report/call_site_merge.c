/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/record/report/call_site_merge.h"

#include <stdio.h>
#include <string.h>

#include "shim/record/report/job.h"
#include "shim/record/sites/call_site_table.h"

struct reader {
    const char *at, *end;
};

/* A row's fields besides its bins. Only bins that are not empty travel. */
struct row_head {
    struct site_key key;
    struct site_vote algorithm, reason;
    uint64_t bytes, calls[SITE_WAYS], nanoseconds[SITE_WAYS];
    struct site_waits waits;
    uint32_t bins;
};
struct row_bin {
    uint32_t n;
    uint16_t way, bin;
};

static void put(FILE *f, const void *data, size_t size)
{
    fwrite(data, 1, size, f);
}

static void put_u32(FILE *f, uint32_t n)
{
    put(f, &n, sizeof n);
}

static void put_row(FILE *f, const struct site_row *r)
{
    struct row_head head = {.key = r->key,
                            .algorithm = r->algorithm,
                            .reason = r->reason,
                            .bytes = r->bytes,
                            .calls = {r->calls[0], r->calls[1]},
                            .nanoseconds = {r->nanoseconds[0], r->nanoseconds[1]},
                            .waits = r->waits};

    for (int i = 0; i < SITE_WAYS * HISTOGRAM_BINS; i++)
        head.bins += r->bins[i / HISTOGRAM_BINS][i % HISTOGRAM_BINS] != 0;
    put(f, &head, sizeof head);
    for (int i = 0; i < SITE_WAYS * HISTOGRAM_BINS; i++) {
        struct row_bin b = {.n = r->bins[i / HISTOGRAM_BINS][i % HISTOGRAM_BINS],
                            .way = (uint16_t)(i / HISTOGRAM_BINS),
                            .bin = (uint16_t)(i % HISTOGRAM_BINS)};
        if (b.n)
            put(f, &b, sizeof b);
    }
}

size_t site_pack(char **data)
{
    const struct site_table *t = site_table;
    size_t size = 0;
    FILE *f = open_memstream(data, &size);

    if (!f)
        return 0;
    put_u32(f, (uint32_t)job_host_count());
    for (int i = 0; i < job_host_count(); i++)
        put(f, job_host_at(i), strlen(job_host_at(i)) + 1);
    put_u32(f, t ? t->objects : 0);
    for (uint32_t i = 0; t && i < t->objects; i++) {
        put_u32(f, t->object[i].id_bytes);
        put(f, t->object[i].id, t->object[i].id_bytes);
        put(f, t->object[i].path, strlen(t->object[i].path) + 1);
    }
    put_u32(f, t ? t->sites : 0);
    for (uint32_t i = 0; t && i < t->sites; i++)
        put(f, &t->site[i], sizeof t->site[i]);
    put_u32(f, t ? t->rows : 0);
    for (uint32_t i = 0; t && i < t->rows; i++)
        put_row(f, &t->row[i]);
    int failed = ferror(f);
    if (fclose(f) || failed) {
        free(*data);
        *data = NULL;
        return 0;
    }
    return size;
}

/* Returns 0, or -1: cut off; the reader is then at its end. */
static int get(struct reader *r, void *data, size_t size)
{
    memset(data, 0, size);
    if ((size_t)(r->end - r->at) < size) {
        r->at = r->end;
        return -1;
    }
    memcpy(data, r->at, size);
    r->at += size;
    return 0;
}

static uint32_t get_u32(struct reader *r)
{
    uint32_t n;

    get(r, &n, sizeof n);
    return n;
}

/* NULL: cut off. */
static const char *get_text(struct reader *r)
{
    const char *text = r->at, *end = memchr(r->at, 0, (size_t)(r->end - r->at));

    r->at = end ? end + 1 : r->end;
    return end ? text : NULL;
}

static void get_objects(struct reader *r, int *here)
{
    uint32_t n = get_u32(r);
    uint8_t id[SITE_ID_BYTES];

    for (uint32_t i = 0; i < n && i < SITE_OBJECTS; i++) {
        uint32_t bytes = get_u32(r);
        const char *path;

        if (bytes > sizeof id || get(r, id, bytes) < 0 || !(path = get_text(r)))
            return;
        here[i] = site_table_object(path, id, (int)bytes);
    }
}

static uint16_t site_here(const struct site *s, const int *object)
{
    struct site_frame frame[SITE_FRAMES];
    int n = 0;

    for (; n < s->frames && n < SITE_FRAMES; n++) {
        int o = s->frame[n].object < SITE_OBJECTS ? object[s->frame[n].object] : -1;

        if (o < 0)
            break;
        frame[n] = (struct site_frame){s->frame[n].offset, (uint16_t)o};
    }
    return n ? (uint16_t)site_table_site(frame, n) : SITE_OTHERS;
}

static void add_waits(struct site_waits *mine, const struct site_waits *w)
{
    mine->calls += w->calls;
    mine->waiting += w->waiting;
    mine->moving += w->moving;
    mine->combining += w->combining;
    for (int i = 0; i < SITE_LATE; i++)
        if (w->late[i].times || w->late[i].ns)
            site_add_late(mine, &w->late[i]);
    for (int i = 0; i < SITE_LATE; i++)
        site_add_last(mine, &w->last[i]);
}

static void add_row(struct site_row *mine, const struct site_row *r)
{
    mine->bytes += r->bytes;
    for (int way = 0; way < SITE_WAYS; way++) {
        mine->calls[way] += r->calls[way];
        mine->nanoseconds[way] += r->nanoseconds[way];
        for (int b = 0; b < HISTOGRAM_BINS; b++)
            mine->bins[way][b] += r->bins[way][b];
    }
    if (r->algorithm.lead)
        site_vote(&mine->algorithm, r->algorithm.what, r->algorithm.lead);
    if (r->reason.lead)
        site_vote(&mine->reason, r->reason.what, r->reason.lead);
    add_waits(&mine->waits, &r->waits);
}

static void get_rows(struct reader *r, const uint16_t *site)
{
    uint32_t n = get_u32(r);
    struct row_head head;
    struct row_bin b;

    for (uint32_t i = 0; i < n && get(r, &head, sizeof head) == 0; i++) {
        struct site_row row = {.key = head.key,
                               .algorithm = head.algorithm,
                               .reason = head.reason,
                               .bytes = head.bytes,
                               .waits = head.waits};

        memcpy(row.calls, head.calls, sizeof row.calls);
        memcpy(row.nanoseconds, head.nanoseconds, sizeof row.nanoseconds);
        row.key.site = row.key.site < SITES ? site[row.key.site] : SITE_OTHERS;
        while (head.bins-- && get(r, &b, sizeof b) == 0)
            if (b.way < SITE_WAYS && b.bin < HISTOGRAM_BINS)
                row.bins[b.way][b.bin] = b.n;
        add_row(i == SITE_OTHERS ? &site_table->row[SITE_OTHERS] : site_table_row(&row.key), &row);
    }
}

void site_unpack(const char *data, size_t size)
{
    struct reader r = {data, data + size};
    int object[SITE_OBJECTS];
    uint16_t *site = calloc(SITES, sizeof *site);

    memset(object, 0xff, sizeof object);
    for (uint32_t n = get_u32(&r); n; n--) {
        const char *host = get_text(&r);

        if (!host)
            break;
        job_add_host(host);
    }
    if (site_table && site) {
        get_objects(&r, object);
        uint32_t n = get_u32(&r);
        struct site s;

        for (uint32_t i = 0; i < n && i < SITES && get(&r, &s, sizeof s) == 0; i++)
            site[i] = site_here(&s, object);
        get_rows(&r, site);
    }
    free(site);
}

static struct site_row *only_twin(const struct site_row *r)
{
    struct site_row *twin = NULL;

    for (uint32_t i = 1; i < site_table->rows; i++) {
        struct site_row *o = &site_table->row[i];

        if (o->key.site != r->key.site || o->key.collective != r->key.collective ||
            o->key.size_class != r->key.size_class || o->key.ranks != r->key.ranks || !o->key.nodes)
            continue;
        if (twin)
            return NULL;
        twin = o;
    }
    return twin;
}

void site_fold(void)
{
    for (uint32_t i = 1; site_table && i < site_table->rows; i++) {
        struct site_row *r = &site_table->row[i];
        struct site_row *twin = r->key.nodes ? NULL : only_twin(r);

        if (!twin)
            continue;
        add_row(twin, r);
        *r = (struct site_row){.key = r->key};
    }
}
