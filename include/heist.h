/* SPDX-License-Identifier: MIT */
#ifndef HEIST_H
#define HEIST_H

/*
 * heist: a work-stealing runtime.  Everything in one include.
 */
#include <heist/algo.h>
#include <heist/base.h>
#include <heist/fork.h>
#include <heist/graph.h>
#include <heist/nodes.h>
#include <heist/pipeline.h>
#include <heist/runtime.h>

#endif
