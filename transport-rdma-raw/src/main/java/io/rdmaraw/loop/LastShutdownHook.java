package io.rdmaraw.loop;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * A shutdown hook that runs its task after the other hooks of the JVM. An application may serve its last requests in a
 * hook and shut the event loops down there, so the task must not close connections before.
 *
 * <p>The JVM does not order its hooks. A thread of the JVM starts all of them and then joins one after the other. This
 * hook therefore waits in two steps. When the JVM joins this hook, all hooks are started and those joined earlier have
 * ended. The hooks that remain were started after this one; it joins them itself.
 */
public final class LastShutdownHook extends Thread {
    private static final long POLL_MILLIS = 5;
    /** Maximum wait for the other hooks; supervisors usually kill a process earlier. The task is skipped then. */
    private static final long MAX_WAIT_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final Runnable task;
    /** Thread of the JVM that starts and joins the hooks. */
    private Thread exitingThread;
    /** Limit of the IDs of hooks: the JVM accepts no new hooks during the shutdown. */
    private long endOfThreadIds;
    private Set<Thread> startedBefore;

    public LastShutdownHook(String name, Runnable task) {
        // Inherits no thread locals and no class loader, because they would not be released before the hook is removed.
        super(null, null, name, 0, false);
        setContextClassLoader(null);
        this.task = task;
    }

    /** Called by the JVM, after it has started some of the other hooks and before it starts the rest. */
    @Override
    public void start() {
        exitingThread = Thread.currentThread();
        endOfThreadIds = Thread.ofPlatform().unstarted(() -> { }).threadId();
        startedBefore = liveThreads();
        super.start();
    }

    @Override
    public void run() {
        try {
            if (awaitOthers(System.nanoTime() + MAX_WAIT_NANOS)) {
                task.run();
            }
        } catch (InterruptedException e) {
            interrupt();
        }
    }

    /** Returns whether all other hooks have ended before the deadline. */
    private boolean awaitOthers(long deadlineNanos) throws InterruptedException {
        while (!isJoined()) {
            if (System.nanoTime() - deadlineNanos >= 0) {
                return false;
            }
            Thread.sleep(POLL_MILLIS);
        }
        for (Thread hook : startedAfter()) {
            TimeUnit.NANOSECONDS.timedJoin(hook, deadlineNanos - System.nanoTime());
            if (hook.isAlive()) {
                return false;
            }
        }
        return true;
    }

    /**
     * Returns whether the JVM joins this thread. According to its documentation, {@link Thread#join()} waits on the
     * thread's monitor. The notification lets the waiting thread compete for the monitor, which this method holds.
     */
    private synchronized boolean isJoined() {
        // Another monitor may block the thread. In join() of this hook, it waits before the notification.
        boolean isWaiting = exitingThread.getState() == State.WAITING;
        notifyAll();
        return isWaiting && exitingThread.getState() == State.BLOCKED;
    }

    private List<Thread> startedAfter() {
        return liveThreads().stream().filter(thread -> !startedBefore.contains(thread)
                && thread.threadId() < endOfThreadIds && thread != this && !isOfSameKind(thread)).toList();
    }

    /** Not {@link Thread#getAllStackTraces}: an error while it allocates the traces would skip the remaining hooks. */
    private static Set<Thread> liveThreads() {
        ThreadGroup root = Thread.currentThread().getThreadGroup();
        while (root.getParent() != null) {
            root = root.getParent();
        }
        Thread[] threads;
        int count;
        do {
            threads = new Thread[2 * root.activeCount() + 64];
            count = root.enumerate(threads);
        } while (count == threads.length);
        return new HashSet<>(Arrays.asList(threads).subList(0, count));
    }

    /** Returns whether a thread is such a hook of another class loader. They must not wait for each other. */
    private static boolean isOfSameKind(Thread thread) {
        return thread.getClass().getName().equals(LastShutdownHook.class.getName());
    }
}
