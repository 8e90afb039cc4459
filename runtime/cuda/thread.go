//go:build cuda

package cuda

import (
	"runtime"
	"sync"
)

// capturing keeps the threads of all devices of the process apart from an open
// capture: a synchronise of another thread can break one in every mode, and a
// recording destroyed meanwhile leaves an error in it.
var capturing sync.RWMutex

// thread is the operating system thread that makes every driver call of a
// device. A context belongs to a thread, so the goroutine never leaves it.
type thread struct {
	mu      sync.Mutex // one call at a time
	calls   chan func() error
	results chan error
}

func newThread() *thread {
	t := &thread{calls: make(chan func() error), results: make(chan error)}
	go t.serve()
	return t
}

// serve makes the calls. It keeps the thread locked to the end, so that the
// thread, with what the driver left in it, ends too.
func (t *thread) serve() {
	runtime.LockOSThread()
	for call := range t.calls {
		t.results <- call()
	}
}

// do makes a call on the thread and waits for it.
func (t *thread) do(call func() error) error {
	return t.send(call, capturing.RLocker())
}

// capture is do for a call that captures.
func (t *thread) capture(call func() error) error {
	return t.send(call, &capturing)
}

func (t *thread) send(call func() error, lock sync.Locker) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	lock.Lock()
	defer lock.Unlock()
	t.calls <- call
	return <-t.results
}

// stop ends the thread; no call may follow.
func (t *thread) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.calls)
}
