package io.rdmaraw.tcp.stack;

import java.util.ArrayList;
import java.util.List;

/** Tasks that run when a stack has released all its connections. Thread-safe. */
final class ReleaseTasks {
    private final List<Runnable> waiting = new ArrayList<>(0);
    private boolean begun;

    /** Runs a task at once if {@link #begin()} has been called. Otherwise {@code begin()} runs it. */
    void add(Runnable task) {
        synchronized (waiting) {
            if (!begun) {
                waiting.add(task);
                return;
            }
        }
        task.run();
    }

    /** Removes a task that has not run yet. Has no effect if it has. */
    void remove(Runnable task) {
        synchronized (waiting) {
            waiting.remove(task);
        }
    }

    /** Runs the waiting tasks on the calling thread. Later tasks run as soon as they are added. */
    void begin() {
        List<Runnable> tasks;
        synchronized (waiting) {
            begun = true;
            tasks = List.copyOf(waiting);
            waiting.clear();
        }
        tasks.forEach(Runnable::run);
    }
}
