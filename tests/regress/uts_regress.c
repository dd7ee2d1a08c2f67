/* SPDX-License-Identifier: MIT
 *
 * The published sizes of two very lopsided trees: a node that a theft lost or
 * ran twice changes the count.  T1 is bushy and ten levels deep, T3 is thin
 * and 1572 levels deep.
 */
#include "../../tools/heist/uts.h"

#include "../test.h"

struct walk {
    const uts_tree *tree;
    uts_count size;
};

static void root(heist_ctx c, void *arg)
{
    struct walk *w = arg;
    uts_node n;
    uts_root(w->tree, &n);
    w->size = uts_walk(c, w->tree, &n);
}

static void check_size(uts_count got, const uts_sample *sample)
{
    CHECK_EQ(got.nodes, sample->size.nodes);
    CHECK_EQ(got.leaves, sample->size.leaves);
    CHECK_EQ(got.depth, sample->size.depth);
}

static void check_serial(const uts_sample *sample)
{
    uts_node n;
    uts_root(&sample->tree, &n);
    check_size(uts_walk_serial(&sample->tree, &n), sample);
}

static void check_workers(const uts_sample *sample, unsigned workers)
{
    heist_config config = {.workers = workers, .seed = test_seed};
    heist_runtime *rt;
    CHECK_EQ(heist_start(&rt, &config), 0);
    struct walk w = {.tree = &sample->tree};
    CHECK_EQ(heist_run(rt, root, &w), 0);
    check_size(w.size, sample);
    CHECK_EQ(heist_stop(rt, HEIST_FOREVER), 0);
}

TEST(the_generator_gives_the_published_t1)
{
    check_serial(&uts_t1);
}

TEST(the_generator_gives_the_published_t3)
{
    check_serial(&uts_t3);
}

TEST(one_worker_visits_every_node_of_t1_once)
{
    check_workers(&uts_t1, 1);
}

TEST(two_workers_visit_every_node_of_t1_once)
{
    check_workers(&uts_t1, 2);
}

TEST(eight_workers_visit_every_node_of_t1_once)
{
    check_workers(&uts_t1, 8);
}

TEST(one_worker_visits_every_node_of_t3_once)
{
    check_workers(&uts_t3, 1);
}

TEST(two_workers_visit_every_node_of_t3_once)
{
    check_workers(&uts_t3, 2);
}

TEST(eight_workers_visit_every_node_of_t3_once)
{
    check_workers(&uts_t3, 8);
}
