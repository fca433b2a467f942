/* SPDX-License-Identifier: BSD-3-Clause */
/* shim/decide/store/: what is kept over jobs, and what bad files do. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/decide/guard/guard.h"
#include "shim/decide/store/store.h"
#include "shim/decide/base/settings.h"
#include "shim/decide/store/store_folder.h"
#include "test/unit/folder.h"
#include "test/unit/random.h"
#include "test/unit/suites.h"

#define ROW "MPI1/1/4x4/0 allreduce 0 1M lane ppg=2 ratio=0.500 spread=0.040 jobs=3 day=20000\n"

static char folder[FOLDER_PATH], path[96];

static void make_folder(void)
{
    folder_make(folder);
    snprintf(path, sizeof path, "%s/store", folder);
}

static void remove_folder(void)
{
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0); /* nothing else was left */
}

static void put(const char *text)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static struct store_rows parse(const char *text)
{
    struct store_rows rows;

    ck_assert_int_eq(store_rows_parse(text, &rows), 0);
    return rows;
}

START_TEST(test_store__a_row_reads_as_it_prints)
{
    struct store_rows rows = parse(ROW);
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    ck_assert_int_eq(rows.n, 1);
    const struct store_row *r = rows.row;
    ck_assert_int_eq(r->collective, COLL_ALLREDUCE);
    ck_assert_uint_eq(r->bytes, 1 << 20);
    ck_assert_int_eq(r->ppg, 2);
    ck_assert_uint_eq(r->jobs, 3);
    ck_assert_double_eq(r->ratio, .5);
    ck_assert_double_eq_tol(r->spread, .04, 1e-12);
    store_row_print(f, r);
    fclose(f);
    ck_assert_str_eq(text, ROW);
    free(text);
    store_rows_free(&rows);
}
END_TEST

START_TEST(test_store__rows_that_cannot_be_read_are_left_out)
{
    static const char *const bad[] = {
        "",
        "# a comment",
        "MPI1/1/4x4/0",
        "MPI1/1/4x4/0 allreduce",
        "MPI1/1/4x4/0 allreduce 0 1M",
        "MPI1/1/4x4/0 allreduce 0 1M lane",            /* no ratio */
        "MPI1/1/4x4/0 allreduce 0 1M lane ratio=0",    /* none is 0 */
        "MPI1/1/4x4/0 allreduce 0 1M lane ratio=-1",   /* or negative */
        "MPI1/1/4x4/0 allreduce 0 1M lane ratio=1e3",  /* digits alone */
        "MPI1/1/4x4/0 allreduce 0 1M lane ratio=0,5",  /* and a point */
        "MPI1/1/4x4/0 allreduce 0 1M lane ratio=nan",  /* no number */
        "MPI1/1/4x4/0 allreduce 0 1M lane ratio=2000", /* not believed */
        "MPI1/1/4x4/0 allreduce 0 3M lane ratio=1",    /* no class */
        "MPI1/1/4x4/0 allreduce 0 0 lane ratio=1",
        "MPI1/1/4x4/0 allreduce 0 99999999999999999999 lane ratio=1",
        "MPI1/1/4x4/0 allreduce 64 1M lane ratio=1",    /* no kind */
        "MPI1/1/4x4/0 allsee 0 1M lane ratio=1",        /* no collective */
        "MPI1/1/4x4/0 allreduce 0 1M lane ratio=1 ppg", /* no value */
        "MPI1/1/4x4/0 allreduce 0 1M lane ratio=1 jobs=99999999999",
        "MPI1/1/4x4/0 allreduce 0 1M lane ratio=1 spread=0",
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s\n%s", bad[i], ROW);
        struct store_rows rows = parse(text);
        ck_assert_msg(rows.n == 1 && rows.row[0].ppg == 2, "'%s': %d rows", bad[i], rows.n);
        store_rows_free(&rows);
    }
}
END_TEST

/* Any bytes, and any cut of good ones, are read without harm. */
START_TEST(test_store__any_text_is_read)
{
    struct rng rng = {7};

    for (int i = 0; i < 3000; i++) {
        char text[2 * sizeof ROW + 1] = ROW ROW;
        size_t n = rng_below(&rng, sizeof text - 1);
        for (int k = (int)rng_below(&rng, 6); k > 0; k--)
            text[rng_below(&rng, sizeof text - 1)] = (char)rng_below(&rng, 256);
        text[n] = 0;
        struct store_rows rows = parse(text);
        for (int k = 0; k < rows.n; k++)
            ck_assert(rows.row[k].ratio >= .001 && rows.row[k].ratio <= 1000);
        store_rows_free(&rows);
    }
}
END_TEST

START_TEST(test_store__jobs_are_combined)
{
    struct store_rows old = parse(ROW), new = parse(ROW);

    new.row->ratio = .52;
    new.row->jobs = 1;
    new.row->day = 20100;
    store_row_combine(old.row, new.row);
    ck_assert(old.row->ratio > .5 && old.row->ratio < .52);
    ck_assert_double_lt(old.row->spread, .06);
    ck_assert_uint_eq(old.row->jobs, 4);
    ck_assert_uint_eq(old.row->day, 20100);
    new.row->ratio = 1.4; /* the machine is another one */
    store_row_combine(old.row, new.row);
    ck_assert_double_eq(old.row->ratio, 1.4);
    ck_assert_uint_eq(old.row->jobs, 1);
    store_rows_free(&old);
    store_rows_free(&new);
}
END_TEST

START_TEST(test_store__a_file_is_made_and_added_to)
{
    struct store_rows mine = parse(ROW), back;

    make_folder();
    store_rows_merge(path, &mine);
    mine.row->kind = 1;
    store_rows_merge(path, &mine);
    ck_assert_int_eq(store_rows_read(path, &back), 0);
    ck_assert_int_eq(back.n, 2);
    store_rows_free(&back);
    store_rows_free(&mine);
    remove_folder();
}
END_TEST

/* Each is left as it is. */
START_TEST(test_store__what_is_no_store_is_not_touched)
{
    struct store_rows mine = parse(ROW);
    struct stat st;
    char text[64] = "";

    make_folder();
    put("bread\nmilk\n");
    store_rows_merge(path, &mine);
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(fgets(text, sizeof text, f));
    fclose(f);
    ck_assert_str_eq(text, "bread\n");
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    store_rows_merge(path, &mine);
    ck_assert(!lstat(path, &st) && S_ISFIFO(st.st_mode));
    unlink(path);
    ck_assert_int_eq(symlink("/nowhere/else", path), 0);
    store_rows_merge(path, &mine);
    ck_assert(!lstat(path, &st) && S_ISLNK(st.st_mode));
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    store_rows_merge(path, &mine);
    ck_assert(!lstat(path, &st) && S_ISDIR(st.st_mode));
    rmdir(path);
    store_rows_merge("/nowhere/at/all", &mine);
    store_rows_free(&mine);
    remove_folder();
}
END_TEST

/* The newest rows stay, and the file can be read again. */
START_TEST(test_store__a_file_is_bounded)
{
    struct store_rows mine = parse(ROW), back;
    struct stat st;

    make_folder();
    for (int i = 0; i < STORE_ROWS + 500; i++) {
        struct store_row r = mine.row[0];
        snprintf(r.where, sizeof r.where, "MPI1/1/4x4/%d", i);
        r.day = (unsigned)i;
        ck_assert_int_eq(store_rows_set(&mine, &r), 0);
    }
    store_rows_merge(path, &mine);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_lt(st.st_size, STORE_BYTES);
    ck_assert_int_eq(store_rows_read(path, &back), 0);
    ck_assert_int_eq(back.n, STORE_ROWS);
    for (int i = 0; i < back.n; i++)
        ck_assert_uint_ge(back.row[i].day, 500);
    store_rows_free(&back);
    store_rows_free(&mine);
    remove_folder();
}
END_TEST

/* Any reader of the folder can lock it. */
START_TEST(test_store__a_lock_of_a_stranger_keeps_no_row_away)
{
    struct store_rows mine = parse(ROW), back;
    struct timespec from, to;

    make_folder();
    int fd = open(folder, O_RDONLY | O_DIRECTORY);
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    clock_gettime(CLOCK_MONOTONIC, &from);
    store_rows_merge(path, &mine);
    clock_gettime(CLOCK_MONOTONIC, &to);
    ck_assert_int_eq(store_rows_read(path, &back), 0);
    ck_assert_int_eq(back.n, 1);
    ck_assert_double_lt(
        (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec), .9);
    close(fd);
    store_rows_free(&back);
    store_rows_free(&mine);
    remove_folder();
}
END_TEST

/* Many jobs end at once: no row is lost. */
START_TEST(test_store__jobs_that_end_together_lose_nothing)
{
    enum { JOBS = 32 };
    struct store_rows mine = parse(ROW), back;
    int status;

    make_folder();
    for (int i = 0; i < JOBS; i++)
        if (!fork()) {
            mine.row->kind = (unsigned)i;
            store_rows_merge(path, &mine);
            _exit(0);
        }
    while (wait(&status) > 0)
        ck_assert_int_eq(status, 0);
    ck_assert_int_eq(store_rows_read(path, &back), 0);
    ck_assert_int_eq(back.n, JOBS);
    store_rows_free(&back);
    store_rows_free(&mine);
    remove_folder();
}
END_TEST

/* Users share a folder: each writes a file, all are read, and what is not of its user is not. */
START_TEST(test_store__users_share_a_folder)
{
    struct store_rows mine = parse(ROW), back;
    char own[STORE_PATH], other[128], *theirs;

    make_folder();
    ck_assert_str_eq(store_folder_own(path, own), path);
    snprintf(path, sizeof path, "%s/%u.store", folder, (unsigned)geteuid());
    ck_assert_str_eq(store_folder_own(folder, own), path);
    store_rows_merge(own, &mine);
    snprintf(other, sizeof other, "%s/%u.store", folder, (unsigned)geteuid() + 1);
    theirs = strdup(path);
    strcpy(path, other);
    put(STORE_HEAD "MPI1/1/4x4/0 bcast 0 1M lane ratio=0.5\n" ROW);
    ck_assert_int_eq(store_folder_read(folder, &back), 0);
    ck_assert_int_eq(back.n, 1); /* the other file is this user's too, so not of the one it names */
    store_rows_free(&back);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(other, 1, 1), 0);
        ck_assert_int_eq(store_folder_read(folder, &back), 0);
        ck_assert_int_eq(back.n, 2);
        ck_assert_uint_eq(store_rows_find(&back, mine.row)->jobs, 4); /* of both */
        store_rows_free(&back);
        put("no store");
        ck_assert_int_eq(store_folder_read(folder, &back), 0);
        ck_assert_int_eq(back.n, 1);
        store_rows_free(&back);
    }
    unlink(theirs);
    free(theirs);
    store_rows_free(&mine);
    remove_folder();
}
END_TEST

/* A line on stderr says of a row that it is wrong by now. */
START_TEST(test_store__a_row_that_is_wrong_by_now_is_named)
{
    static const double now[] = {.52, .7, 1.4}; /* as it was, better, the slower way */
    char said[512] = "";

    make_folder();
    for (size_t i = 0; i < sizeof now / sizeof *now; i++) {
        struct store_rows mine = parse(ROW);
        FILE *f = tmpfile();
        int err = dup(2);

        put(STORE_HEAD ROW);
        mine.row->ratio = now[i];
        settings.cfg.log = CFG_LEVEL_WARN;
        dup2(fileno(f), 2);
        store_rows_merge(path, &mine);
        dup2(err, 2);
        close(err);
        rewind(f);
        size_t n = fread(said, 1, sizeof said - 1, f);
        said[n] = 0;
        ck_assert_msg(!!strstr(said, "wrong by now") == (now[i] > 1), "%s", said);
        fclose(f);
        store_rows_free(&mine);
    }
    remove_folder();
}
END_TEST

/* An entry of the guard that was told of in one job begins with that in the next. */
START_TEST(test_store__what_is_learned_is_recalled)
{
    static const struct plan_algorithm lane = {.name = "lane"}, other = {.name = "other"};
    static struct guard g;
    struct plan_candidate c[] = {{.algorithm = &lane, .ppg = 1}, {.algorithm = &other, .ppg = 1}};
    struct estimate known[GUARD_CONTENDERS];
    struct store_rows none = {0};
    char where[STORE_WHERE], *text;
    struct topo *topo;
    char why[256];

    ck_assert_int_eq(topo_parse("node:2 rank:2", 4, &topo, why, sizeof why), 0);
    store_where("Open MPI v4.1.4, package: Debian", topo, where);
    ck_assert_int_eq(strncmp(where, "OpenMPIv4.1.4/" COLLSHIM_VERSION "/2x2/", 20), 0);
    make_folder();
    guard_open(&g, 0, NULL);
    struct guard_entry *e = guard_find(&g, COLL_BCAST, 0, 3000000);
    guard_begin(&g, e, 3000000, c, 2);
    ck_assert_int_eq(store_open("", "MPICH Version: 4.0.2"), 0);
    ck_assert_int_eq(store_recall(where, COLL_BCAST, 0, e, &none, 1, known), 0);
    e->found[1] = (struct estimate){log(.5), .03};
    store_learn(where, COLL_BCAST, 0, e, 1);
    store_merge(path);

    ck_assert_ptr_null(store_read(path, "MPICH Version: 4.0.2"));
    text = store_read(path, "Open MPI v4.1.4, package: other");
    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(store_open(text, "MPICH Version: 4.0.2"), -EINVAL);
    ck_assert_int_eq(store_open(text, "Open MPI v4.1.4"), 0);
    free(text);
    ck_assert_int_eq(store_recall(where, COLL_REDUCE, 0, e, &none, 1, known), 0);
    ck_assert_int_eq(store_recall(where, COLL_BCAST, 1, e, &none, 1, known), 0);
    ck_assert_int_eq(store_recall("elsewhere", COLL_BCAST, 0, e, &none, 1, known), 0);
    ck_assert_int_eq(store_recall(where, COLL_BCAST, 0, e, &none, 0, known), 0);
    ck_assert_int_eq(store_recall(where, COLL_BCAST, 0, e, &none, 1, known), 1);
    ck_assert_double_eq_tol(known[1].mean, log(.5), 1e-3);
    ck_assert_double_eq(known[2].spread, 0);
    guard_recall(&g, e, known);
    ck_assert_int_eq(e->best, 1);
    ck_assert_int_eq(guard_settled(e), 1);
    store_close();
    topo_free(topo);
    remove_folder();
}
END_TEST

/* A communicator begins with the findings of an earlier one of its place. */
START_TEST(test_store__what_a_process_finds_is_kept_for_it)
{
    static const struct plan_algorithm lane = {.name = "lane"}, ring = {.name = "ring"};
    static struct guard g;
    struct plan_candidate c[] = {{.algorithm = &lane, .ppg = 1}, {.algorithm = &ring, .ppg = 1}};
    struct estimate known[GUARD_CONTENDERS];
    struct store_rows own;

    ck_assert_int_eq(store_open("", "X 1"), 0);
    ck_assert_uint_eq(store_found("here", &own), 0);
    guard_open(&g, 0, NULL);
    struct guard_entry *e = guard_find(&g, COLL_BCAST, 0, 3000000);
    guard_begin(&g, e, 3000000, c, 2);
    e->found[1] = (struct estimate){log(.5), .03};
    store_learn("here", COLL_BCAST, 0, e, 0);
    uint64_t one = store_found("here", &own);
    ck_assert_uint_ne(one, 0);
    ck_assert_int_eq(own.n, 1);
    ck_assert_int_eq(store_recall("here", COLL_BCAST, 0, e, &own, 0, known), 1);
    ck_assert_double_eq_tol(known[1].mean, log(.5), 1e-3);
    store_rows_free(&own);
    ck_assert_uint_eq(store_found("elsewhere", &own), 0);

    /* The order of rows, and those of other places, do not count; each number does. */
    store_learn("elsewhere", COLL_BCAST, 0, e, 0);
    store_learn("here", COLL_REDUCE, 0, e, 0);
    uint64_t two = store_found("here", &own);
    store_rows_free(&own);
    ck_assert_uint_ne(two, one);
    store_forget("here");
    ck_assert_uint_eq(store_found("here", &own), 0);
    store_learn("here", COLL_REDUCE, 0, e, 0);
    store_learn("here", COLL_BCAST, 0, e, 0);
    ck_assert_uint_eq(store_found("here", &own), two);
    store_rows_free(&own);
    e->found[1].spread = .04;
    store_learn("here", COLL_BCAST, 0, e, 0);
    ck_assert_uint_ne(store_found("here", &own), two);
    store_rows_free(&own);
    ck_assert_uint_ne(store_found("elsewhere", &own), 0);
    store_rows_free(&own);

    /* Nothing of it was for a file. */
    make_folder();
    store_merge(path);
    ck_assert_int_ne(access(path, F_OK), 0);
    store_close();
    remove_folder();
}
END_TEST

/* Many places: the oldest rows go. */
START_TEST(test_store__what_a_process_keeps_is_bounded)
{
    static const struct plan_algorithm lane = {.name = "lane"};
    static struct guard g;
    struct plan_candidate c[] = {{.algorithm = &lane, .ppg = 1}};
    struct store_rows own;
    char where[STORE_WHERE];

    ck_assert_int_eq(store_open("", "X 1"), 0);
    guard_open(&g, 0, NULL);
    struct guard_entry *e = guard_find(&g, COLL_BCAST, 0, 3000000);
    guard_begin(&g, e, 3000000, c, 1);
    e->found[1] = (struct estimate){log(.5), .03};
    for (int i = 0; i < STORE_ROWS + 2; i++) {
        snprintf(where, sizeof where, "place/%d", i);
        store_learn(where, COLL_BCAST, 0, e, 0);
    }
    for (int i = 0; i < STORE_ROWS + 2; i++) {
        snprintf(where, sizeof where, "place/%d", i);
        ck_assert_int_eq(store_found(where, &own) != 0, i >= 2);
        store_rows_free(&own);
    }
    store_close();
}
END_TEST

Suite *suite_store(void)
{
    Suite *s = suite_create("store");
    TCase *t = tcase_create("files");

    tcase_add_test(t, test_store__a_row_reads_as_it_prints);
    tcase_add_test(t, test_store__rows_that_cannot_be_read_are_left_out);
    tcase_add_test(t, test_store__any_text_is_read);
    tcase_add_test(t, test_store__jobs_are_combined);
    tcase_add_test(t, test_store__a_file_is_made_and_added_to);
    tcase_add_test(t, test_store__what_is_no_store_is_not_touched);
    tcase_add_test(t, test_store__a_file_is_bounded);
    tcase_add_test(t, test_store__a_lock_of_a_stranger_keeps_no_row_away);
    tcase_add_test(t, test_store__jobs_that_end_together_lose_nothing);
    tcase_add_test(t, test_store__users_share_a_folder);
    tcase_add_test(t, test_store__a_row_that_is_wrong_by_now_is_named);
    tcase_add_test(t, test_store__what_is_learned_is_recalled);
    tcase_add_test(t, test_store__what_a_process_finds_is_kept_for_it);
    tcase_add_test(t, test_store__what_a_process_keeps_is_bounded);
    suite_add_tcase(s, t);
    return s;
}
