package io.rdmaraw.tcp.stack;

import java.util.ArrayList;
import java.util.List;

/** Tasks that run when a stack has released all its connections. Thread-safe. */
final class ReleaseTasks {
    private final List<Runnable> pending = new ArrayList<>(0);
    private boolean released;

    /** Runs a task at once if {@link #runAll()} has been called. Otherwise {@code runAll()} runs it. */
    void add(Runnable task) {
        synchronized (pending) {
            if (!released) {
                pending.add(task);
                return;
            }
        }
        task.run();
    }

    /** Removes a task that has not run yet. Has no effect if it has. */
    void remove(Runnable task) {
        synchronized (pending) {
            pending.remove(task);
        }
    }

    /** Runs the waiting tasks on the calling thread. Later tasks run as soon as they are added. */
    void runAll() {
        List<Runnable> tasks;
        synchronized (pending) {
            released = true;
            tasks = List.copyOf(pending);
            pending.clear();
        }
        tasks.forEach(Runnable::run);
    }
}
