package host

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// phase is a part of a launch whose tasks may run in any order and at once.
// A task is called with the number of the worker that runs it, which selects
// scratch memory and must not influence the result.
type phase struct {
	tasks int
	run   func(task, worker int)
}

// pool runs phases on a fixed set of goroutines, one per core, of which the
// caller is one. Waking them allocates nothing.
type pool struct {
	workers int
	wake    []chan struct{}

	mu      sync.Mutex // one phase at a time
	current phase
	next    atomic.Int64
	done    sync.WaitGroup
}

func newPool() *pool {
	p := &pool{workers: runtime.GOMAXPROCS(0)}
	for w := 1; w < p.workers; w++ {
		wake := make(chan struct{})
		p.wake = append(p.wake, wake)
		go func() {
			for range wake {
				p.work(w)
				p.done.Done()
			}
		}()
	}
	return p
}

// run returns when every task of the phase has ended.
func (p *pool) run(ph phase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = ph
	p.next.Store(0)
	woken := min(len(p.wake), ph.tasks-1)
	if woken > 0 {
		p.done.Add(woken)
		for _, wake := range p.wake[:woken] {
			wake <- struct{}{}
		}
	}
	p.work(0)
	p.done.Wait()
}

func (p *pool) work(worker int) {
	for {
		task := int(p.next.Add(1)) - 1
		if task >= p.current.tasks {
			return
		}
		p.current.run(task, worker)
	}
}

func (p *pool) close() {
	for _, wake := range p.wake {
		close(wake)
	}
}
