package io.rdmaraw.loop;

import io.rdmaraw.ffi.EventFd;
import io.rdmaraw.ffi.FdWaiter;

import java.util.concurrent.Semaphore;

/**
 * Wakes a loop that sleeps in a NIO selector when one of its queues has an event. A selector cannot watch
 * foreign descriptors, so a thread watches them. Only loops with both NIO channels and queues have such a
 * thread, and it runs only while the loop sleeps.
 */
final class CompletionWatcher implements AutoCloseable {
    private final EventFd stopFd = new EventFd();
    private final FdWaiter waiter;
    private final Semaphore requests = new Semaphore(0);
    private final Runnable wakeup;
    private volatile boolean watching;
    private volatile boolean stopped;
    /** Whether {@link #stopFd} is closed. */
    private boolean ended;

    CompletionWatcher(int[] fds, Runnable wakeup) {
        this.wakeup = wakeup;
        int[] all = new int[fds.length + 1];
        all[0] = stopFd.fd();
        System.arraycopy(fds, 0, all, 1, fds.length);
        waiter = new FdWaiter(all);
        Thread.ofPlatform().daemon().name("rdma-raw-completion-watcher").start(this::run);
    }

    /** Requests a wake-up at the next event. Does nothing if a request is pending. */
    void watch() {
        if (!watching) {
            watching = true;
            requests.release();
        }
    }

    private void run() {
        try {
            while (!stopped) {
                requests.acquireUninterruptibly();
                int ready = 0;
                while (ready == 0 && !stopped) {
                    ready = waiter.await(-1);
                }
                watching = false;
                if (!stopped) {
                    wakeup.run();
                }
            }
        } finally {
            synchronized (this) {
                ended = true;
                waiter.close();
                stopFd.close();
            }
        }
    }

    /**
     * Ends the thread without waiting for it. The thread may still wait on the descriptors for a moment, but wakes the
     * loop no more.
     */
    @Override
    public void close() {
        stopped = true;
        requests.release();
        synchronized (this) {
            if (!ended) {
                stopFd.signal();
            }
        }
    }
}
