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
    private final Thread thread;
    private volatile boolean watching;
    private volatile boolean stopped;

    CompletionWatcher(int[] fds, Runnable wakeup) {
        this.wakeup = wakeup;
        int[] all = new int[fds.length + 1];
        all[0] = stopFd.fd();
        System.arraycopy(fds, 0, all, 1, fds.length);
        waiter = new FdWaiter(all);
        thread = Thread.ofPlatform().daemon().name("rdma-raw-completion-watcher").start(this::run);
    }

    /** Requests a wake-up at the next event. Does nothing if a request is pending. */
    void watch() {
        if (!watching) {
            watching = true;
            requests.release();
        }
    }

    private void run() {
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
    }

    @Override
    public void close() {
        stopped = true;
        stopFd.signal();
        requests.release();
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        waiter.close();
        stopFd.close();
    }
}
