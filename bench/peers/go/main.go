// SPDX-License-Identifier: MIT

// Go: a goroutine and a WaitGroup per fork.  Calling Go from C would cost more
// than most regions do, so this is the harness of main.c once more, with the
// same inputs, arguments and output.
package main

import (
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	rootChildren   = 2000
	children       = 8
	chance         = 0.124875
	leafMixes      = 212
	iterationMixes = 64
	aloneLeaves    = 2048
)

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func chain(z, mixes uint64) uint64 {
	for ; mixes > 0; mixes-- {
		z = mix(z + 1)
	}
	return z
}

func leaf(i uint64) uint64 { return chain(i, leafMixes) }

func iteration(i, n uint64, skewed bool) uint64 {
	share := 1.0
	if skewed {
		x := float64(i) / float64(n)
		share = 3 * x * x
	}
	return chain(i, uint64(share*iterationMixes))
}

// fork runs left here and right elsewhere, and returns when both are done.
func fork(left, right func()) {
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		right()
		wg.Done()
	}()
	left()
	wg.Wait()
}

func fib(n int64) int64 {
	if n < 2 {
		return n
	}
	var a, b int64
	fork(func() { a = fib(n - 1) }, func() { b = fib(n - 2) })
	return a + b
}

// each runs fn(0..n-1), the last one here, and adds up.
func each(n int, fn func(i int) uint64) uint64 {
	count := make([]uint64, n)
	var wg sync.WaitGroup
	wg.Add(n - 1)
	for i := 0; i < n-1; i++ {
		i := i
		go func() {
			count[i] = fn(i)
			wg.Done()
		}()
	}
	sum := fn(n - 1)
	wg.Wait()
	for _, c := range count {
		sum += c
	}
	return sum
}

func place(all, columns, left, right uint32) uint64 {
	if columns == all {
		return 1
	}
	here := all &^ (columns | left | right)
	if here == 0 {
		return 0
	}
	var bits [32]uint32
	n := 0
	for here != 0 {
		bits[n] = here & -here
		here ^= bits[n]
		n++
	}
	return each(n, func(i int) uint64 {
		bit := bits[i]
		return place(all, columns|bit, (left|bit)<<1, (right|bit)>>1)
	})
}

func visit(parent, i uint64, mixes int) uint64 {
	state := parent + (i+1)*0x9e3779b97f4a7c15
	for k := 0; k < mixes; k++ {
		state = mix(state)
	}
	if float64(state>>11)/(1<<53) >= chance {
		return 1
	}
	return 1 + each(children, func(i int) uint64 { return visit(state, uint64(i), mixes) })
}

func uts(seed uint64, mixes int) uint64 {
	return 1 + each(rootChildren, func(i int) uint64 { return visit(seed, uint64(i), mixes) })
}

type sha1Tree struct {
	seed     uint32
	maxDepth int
	root     float64
	chance   float64
	children int
}

func (t *sha1Tree) childrenOf(state []byte, depth int) int {
	x := float64(binary.BigEndian.Uint32(state[16:])&0x7fffffff) / 2147483648.0
	if t.maxDepth == 0 {
		if depth == 0 {
			return int(t.root)
		}
		if x < t.chance {
			return t.children
		}
		return 0
	}
	if depth >= t.maxDepth {
		return 0
	}
	n := int(math.Floor(math.Log(1-x) / math.Log(1-1/(1+t.root))))
	if n > 100 {
		return 100
	}
	return n
}

func (t *sha1Tree) visit(state [20]byte, depth int) uint64 {
	n := t.childrenOf(state[:], depth)
	if n == 0 {
		return 1
	}
	return 1 + each(n, func(i int) uint64 {
		var message [24]byte
		copy(message[:], state[:])
		binary.BigEndian.PutUint32(message[20:], uint32(i))
		return t.visit(sha1.Sum(message[:]), depth+1)
	})
}

func (t *sha1Tree) nodes() uint64 {
	var message [20]byte
	binary.BigEndian.PutUint32(message[16:], t.seed)
	return t.visit(sha1.Sum(message[:]), 0)
}

type node struct {
	left, right *node
	value       int64
}

func grow(nodes []node, next *int64) *node {
	left := len(nodes) / 2
	nodes[0].value = *next
	*next++
	if left > 0 {
		nodes[0].left = grow(nodes[1:1+left], next)
	}
	if len(nodes) > 1+left {
		nodes[0].right = grow(nodes[1+left:], next)
	}
	return &nodes[0]
}

func treeOf(n uint64) *node {
	next := int64(1)
	return grow(make([]node, n), &next)
}

func sum(t *node) int64 {
	if t.right == nil {
		if t.left == nil {
			return t.value
		}
		return t.value + sum(t.left)
	}
	var a, b int64
	fork(func() { a = sum(t.left) }, func() { b = sum(t.right) })
	return t.value + a + b
}

func loop(from, to, n uint64, skewed bool) uint64 {
	if to-from == 1 {
		return iteration(from, n, skewed)
	}
	middle := from + (to-from)/2
	var a, b uint64
	fork(func() { a = loop(from, middle, n, skewed) },
		func() { b = loop(middle, to, n, skewed) })
	return a + b
}

func span(from, to uint64) uint64 {
	if from == to {
		return 0
	}
	if to-from == 1 {
		return leaf(from)
	}
	middle := from + (to-from)/2
	var a, b uint64
	fork(func() { a = span(from, middle) }, func() { b = span(middle, to) })
	return a + b
}

func region(leaves uint64) uint64 {
	if leaves > 0 {
		return span(0, leaves)
	}
	var a, b uint64
	fork(func() { a = span(0, 0) }, func() { b = span(0, 0) })
	return a + b
}

// pieces gives every processor one piece of 0..n-1, and adds up.
func pieces(n uint64, fn func(from, to uint64) uint64) uint64 {
	p := uint64(runtime.GOMAXPROCS(0))
	return each(int(p), func(i int) uint64 {
		return fn(n*uint64(i)/p, n*uint64(i+1)/p)
	})
}

func sumNumbers(in []uint64) uint64 {
	return pieces(uint64(len(in)), func(from, to uint64) uint64 {
		s := uint64(0)
		for _, x := range in[from:to] {
			s += x
		}
		return s
	})
}

func mapNumbers(out, in []uint64) {
	pieces(uint64(len(in)), func(from, to uint64) uint64 {
		out := out[from:to]
		for i, x := range in[from:to] {
			out[i] = x ^ x>>29
		}
		return 0
	})
}

// measureNumbers does sums or maps, the short ones many at a time.
func measureNumbers(name string, size, repeats uint64) {
	in, out := make([]uint64, size), make([]uint64, size)
	for i := range in {
		in[i] = mix(uint64(i))
	}
	answer := uint64(0)
	solve := func() { answer = sumNumbers(in) }
	if strings.HasPrefix(name, "map") {
		solve = func() { mapNumbers(out, in) }
	}
	result := func() uint64 {
		if answer != 0 {
			return answer
		}
		hash := size
		for i, x := range out {
			hash += mix(x + uint64(i))
		}
		return hash
	}
	batch := 1
	if strings.HasSuffix(name, "-1000") {
		batch = 20
	}
	solve()
	ns := make([]int64, repeats)
	for i := range ns {
		t := now()
		for k := 0; k < batch; k++ {
			solve()
		}
		ns[i] = now() - t
		if batch == 1 {
			printOne(float64(ns[i])*1e-9, result())
		}
	}
	if batch > 1 {
		printSpread(ns, batch, result())
	}
}

var start = time.Now()

func now() int64 { return int64(time.Since(start)) }

func printOne(value float64, result uint64) {
	fmt.Printf("sample %.9g %.9g %.9g 1 %d\n", value, value, value, result)
}

func printSpread(ns []int64, batch int, result uint64) {
	sort.Slice(ns, func(i, k int) bool { return ns[i] < ns[k] })
	n, unit := len(ns), 1e9*float64(batch)
	fmt.Printf("sample %.9g %.9g %.9g %d %d\n", float64(ns[n/2])/unit,
		float64(ns[n/10])/unit, float64(ns[n-1-n/10])/unit, n*batch, result)
}

func measureLong(warm bool, repeats uint64, solve func() uint64) {
	if warm {
		solve()
	} else {
		span(0, aloneLeaves)
	}
	for ; repeats > 0; repeats-- {
		t := now()
		result := solve()
		printOne(float64(now()-t)*1e-9, result)
	}
}

func measureBatch(size, repeats uint64) {
	const batch = 20
	root := treeOf(size)
	ns := make([]int64, repeats)
	result := sum(root)
	for i := range ns {
		t := now()
		for k := 0; k < batch; k++ {
			if sum(root) != result {
				die("a wrong sum")
			}
		}
		ns[i] = now() - t
	}
	printSpread(ns, batch, uint64(result))
}

func spin(ns int64) {
	for end := now() + ns; now() < end; {
	}
}

func measureRegion(leaves, repeats uint64, gap time.Duration) {
	ns := make([]int64, repeats)
	result := region(leaves)
	for i := 0; i < 3; i++ {
		region(leaves)
	}
	for i := range ns {
		if gap >= time.Millisecond {
			time.Sleep(gap)
		} else if gap > 0 {
			spin(int64(gap))
		}
		now() // after a sleep the clock's own code is cold
		t := now()
		r := region(leaves)
		ns[i] = now() - t
		if r != result {
			die("two regions with two results")
		}
	}
	printSpread(ns, 1, result)
}

func cpu(clock uintptr) int64 {
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

const (
	processClock = 2
	threadClock  = 3
)

func measureIdle(ms uint64) {
	region(4096)
	wall, used := now(), cpu(processClock)
	time.Sleep(time.Duration(ms) * time.Millisecond)
	used = cpu(processClock) - used
	printOne(float64(used)*1e3/float64(now()-wall), 0)
}

func measureLonely(ms uint64, busy bool) {
	span(0, aloneLeaves)
	done := make(chan bool)
	go func() {
		runtime.LockOSThread()
		wall, all, own := now(), cpu(processClock), cpu(threadClock)
		if busy {
			spin(int64(ms) * 1e6)
		} else {
			time.Sleep(time.Duration(ms) * time.Millisecond)
		}
		own = cpu(threadClock) - own
		others := cpu(processClock) - all - own
		if others < 0 {
			others = 0
		}
		printOne(float64(others)*1e3/float64(now()-wall), 0)
		done <- true
	}()
	<-done
}

func measureSteal(n uint64) {
	runtime.LockOSThread() // the owner stays put; the other thread is the thief
	ns := make([]int64, n)
	for i := range ns {
		var taken atomic.Bool
		var wg sync.WaitGroup
		t := now()
		wg.Add(1)
		go func() {
			taken.Store(true)
			wg.Done()
		}()
		for !taken.Load() {
		}
		wg.Wait()
		ns[i] = now() - t
	}
	printSpread(ns, 1, n)
}

func die(why string) {
	fmt.Fprintln(os.Stderr, "bench:", why)
	os.Exit(1)
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: bench_go BENCH WORKERS [SIZE [REPEATS]]")
	os.Exit(2)
}

// notHere says that Go has no natural way to do this one.
func notHere() {
	fmt.Fprintln(os.Stderr, "bench: this peer does not do that")
	os.Exit(3)
}

type preset struct{ size, repeats uint64 }

func main() {
	const us, ms = time.Microsecond, time.Millisecond
	trees := map[string]*sha1Tree{
		"uts-t1": {19, 10, 4, 0, 0}, "uts-t3": {42, 0, 2000, 0.124875, 8},
		"uts-t1l": {29, 13, 4, 0, 0}, "uts-t3l": {7, 0, 2000, 0.200014, 5},
	}
	gaps := map[string]time.Duration{"-0": 0, "-100us": 100 * us, "-10ms": 10 * ms}
	presets := map[string]preset{
		"fib": {30, 1}, "nqueens": {12, 1}, "uts": {2, 1}, "uts-fine": {38, 1},
		"uts-t1": {0, 1}, "uts-t3": {0, 1}, "uts-t1l": {0, 1}, "uts-t3l": {0, 1},
		"tree": {1 << 21, 1}, "tree-1000": {1000, 50},
		"loop-even": {1 << 17, 1}, "loop-skewed": {1 << 17, 1},
		"sum": {10000000, 5}, "sum-1000": {1000, 300},
		"map": {10000000, 5}, "map-1000": {1000, 300},
		"region-empty-0": {0, 5000}, "region-empty-100us": {0, 500},
		"region-empty-10ms": {0, 25}, "region-5us-10ms": {7, 25},
		"region-25us-10ms": {35, 25}, "region-185us-0": {256, 300},
		"region-185us-100us": {256, 300}, "region-185us-10ms": {256, 25},
		"idle": {2000, 1}, "idle-in-region": {1000, 1},
		"idle-in-region-busy": {1000, 1}, "steal": {1000, 1},
	}
	args := os.Args[1:]
	if len(args) < 2 || len(args) > 4 {
		usage()
	}
	name := args[0]
	p, found := presets[name]
	if !found {
		notHere()
	}
	numbers := []uint64{0, p.size, p.repeats}
	for i, arg := range args[1:] {
		n, err := strconv.ParseUint(arg, 10, 64)
		if err != nil {
			usage()
		}
		numbers[i] = n
	}
	workers, size, repeats := numbers[0], numbers[1], numbers[2]
	runtime.GOMAXPROCS(int(workers))
	debug.SetMaxStack(1 << 30)

	switch {
	case name == "fib":
		measureLong(false, repeats, func() uint64 { return uint64(fib(int64(size))) })
	case name == "nqueens":
		measureLong(true, repeats, func() uint64 { return place(1<<size-1, 0, 0, 0) })
	case name == "uts":
		measureLong(true, repeats, func() uint64 { return uts(size, 24) })
	case name == "uts-fine":
		measureLong(true, repeats, func() uint64 { return uts(size, 1) })
	case trees[name] != nil:
		measureLong(false, repeats, trees[name].nodes)
	case name == "tree":
		root := treeOf(size)
		measureLong(true, repeats, func() uint64 { return uint64(sum(root)) })
	case name == "tree-1000":
		measureBatch(size, repeats)
	case strings.HasPrefix(name, "loop"):
		measureLong(true, repeats, func() uint64 { return loop(0, size, size, name == "loop-skewed") })
	case strings.HasPrefix(name, "sum"), strings.HasPrefix(name, "map"):
		measureNumbers(name, size, repeats)
	case strings.HasPrefix(name, "region"):
		measureRegion(size, repeats, gaps[name[strings.LastIndex(name, "-"):]])
	case name == "idle":
		measureIdle(size)
	case name == "steal":
		if workers < 2 {
			notHere()
		}
		measureSteal(size)
	default:
		measureLonely(size, strings.HasSuffix(name, "busy"))
	}
}
